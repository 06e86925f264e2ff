"""A model for trying the plugins without a key: it goes by keywords, and fits its answers to the schema it is given.

What flow fits, what to send and what to draw is decided by a few words of the question; the requests, the queries, the
charts and the files are real.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.model import Chunk, Model, Prompt, StopChunk, TextChunk

FLOWS = {
    "weather.forecast": r"weather|forecast",
    "sales_insight.chart_sales": r"chart|revenue|sales",
    "host_security.scan_host": r"\bscan",
    "file_convert.convert_document": r"convert|\bcsv\b",
}
SQL = (
    "SELECT c.region, SUM(o.amount) AS revenue FROM orders o JOIN customers c ON c.id = o.customer_id "
    "WHERE o.ordered_on LIKE '2025-%' GROUP BY 1 ORDER BY 2 DESC"
)
DAY = re.compile(r'"date": ?"([^"]+)", ?"low": ?([\d.]+), ?"high": ?([\d.]+), ?"condition": ?"([^"]+)"')
NEXT = {
    "sales_insight.query_sales": "How many orders in 2025?",
    "host_security.cve_detail": "What is CVE-2024-3094?",
    "file_convert.inspect_document": "What is in this file?",
    "weather.current_weather": "How warm is it now?",
}
HELP = (
    "Ask me, for example:\n\n"
    "- *What will the weather be in Hangzhou, for 3 days?*\n"
    "- *Chart the revenue of 2025 by region*\n"
    "- *Scan the host db-01*\n"
    "- *Convert this CSV file to Markdown*, with a file\n\n"
    "I am a small script that goes by keywords. For a real model, change one line in server/rightseat.yaml."
)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    chunk_delay: float = Field(default=0.02, ge=0)
    """How many seconds pass between two words, so that streaming can be seen."""


def build(options: Options) -> Model:
    return DemoModel(options.chunk_delay)


class DemoModel:
    def __init__(self, chunk_delay: float) -> None:
        self._chunk_delay = chunk_delay

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        schema, asked = prompt.parameters.response_schema, prompt.messages[-1].text
        if schema is not None:
            yield TextChunk(json.dumps(filled(schema, asked), ensure_ascii=False))
        else:
            for word in re.split(r"(?<= )", worded(asked)):
                yield TextChunk(word)
                await asyncio.sleep(self._chunk_delay)
        yield StopChunk("stop")


def filled(schema: Mapping[str, Any], asked: str) -> dict[str, Any]:
    """A value for the schema: null where the question does not say one."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    question = asked.rpartition("uestion:")[2].strip()
    if "flow" in properties:
        return {"flow": fitting(question, properties["flow"]["enum"])}
    if "sql" in properties:
        return {"sql": SQL}
    if {"x", "y"} <= properties.keys():
        return {"type": "bar", "x": "region", "y": ["revenue"], "title": "Revenue by region, 2025", "stack": False}
    if any("." in name for name in properties):
        return {name: NEXT[name] for name in properties if name in NEXT}
    known = {
        "city": found(r"\bin ([A-Z]\w+)", question),
        "days": number(found(r"(\d+) days", question)),
        "host_id": found(r"\b([a-z]+-\d+)\b", question),
        "depth": found(r"\b(full|quick)\b", question),
        "target": {"markdown": "md", "json": "json", "csv": "csv"}.get(str(found(r"to (\w+)", question)).lower()),
        "files": labels(properties.get("files", {})),
    }
    return {name: known.get(name) for name in properties}


def fitting(question: str, names: list[str]) -> str:
    for name, words in FLOWS.items():
        if name in names and re.search(words, question, re.IGNORECASE):
            return name
    return "none"


def found(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match[1] if match else None


def number(text: str | None) -> int | None:
    return None if text is None else int(text)


def labels(schema: Any) -> list[str] | None:
    """The files of the conversation, as the schema lists them."""
    text = json.dumps(schema)
    listed = re.search(r'"enum": (\[[^\]]+\])', text)
    return json.loads(listed[1]) if listed else None


def day(found: tuple[str, ...]) -> str:
    date, low, high, condition = found
    return f"{date} {condition}, {low} to {high} °C"


def worded(prompt: str) -> str:
    asked = re.sub(r"^(user|assistant): .*$", "", prompt, flags=re.MULTILINE)  # what was said before
    if "rain_chance" in asked:
        return f"The forecast of the demo API: {'; '.join(map(day, DAY.findall(asked))) or 'no days'}."
    if "revenue" in asked and "region" in asked:
        return "The chart shows which region leads in 2025, and by how much."
    if "task_id" in asked:
        return f"The scan has begun. Its number is {found(r'(scan-[a-z0-9-]+)', asked) or 'not known'}."
    if "cannot ask for it" in asked:
        return "A scan needs approval, and this client cannot ask for it. Nothing was scanned."
    if "did not allow" in asked:
        return "All right, nothing was scanned."
    if re.search(r"\.(md|json|csv)\b", asked) and "onvert" in asked:
        return "Here is the converted file."
    return HELP
