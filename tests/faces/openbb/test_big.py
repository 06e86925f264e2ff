"""Ten megabytes of a widget: the right number by SQL, in a small prompt, and the server's memory is as before.

The server is a process of its own; the model behind it is a server of this test that calls tools as a model would.
"""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.conditions import until
from tests.conftest import Serve

ROWS = 100_000
PEAK_ROW, PEAK = 61_803, 98765.4321
WINDOW = 4 * 32_000
"""Bytes of a prompt of 32k tokens."""
MEGABYTE = 2**20

CONFIGURATION = """
models: {{upstream: {{type: openai, model: fake, base_url: "{url}/v1", api_key: sk-test}}}}
agents: {{analyst: {{model: upstream, description: Reads the dashboard.}}}}
faces: [{{type: openbb}}]
"""

WIDGET = {
    "uuid": "8103de22-3364-547c-b273-118eca455677",
    "origin": "OpenBB API",
    "widget_id": "tick_data",
    "name": "Tick Data",
    "description": "Every trade of the day.",
    "params": [],
    "metadata": {},
}

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")


@cache
def ticks() -> str:
    """The highest price stands once, far from both ends."""
    rows = []
    for number in range(ROWS):
        price = PEAK if number == PEAK_ROW else 100 + (number * 7919 % 10_000) / 100
        second = f"2024-10-15T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z"
        note = "regular trade, reported late" if number % 7 else "regular trade"
        rows.append(
            {"tick": number, "time": second, "venue": "XNAS", "price": price, "size": number % 977, "note": note}
        )
    return json.dumps(rows)


@dataclass
class Provider:
    """A model that reads the widget, asks the table in SQL, and says what came."""

    sizes: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def app(self) -> Starlette:
        return Starlette(routes=[Route("/v1/chat/completions", self.complete, methods=["POST"])])

    async def complete(self, request: Request) -> Response:
        body = await request.body()
        self.sizes.append(len(body))
        delta = self.decide(json.loads(body))
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        return Response("".join([*events, "data: [DONE]\n\n"]), media_type="text/event-stream")

    def decide(self, asked: dict[str, Any]) -> dict[str, Any]:
        last = asked["messages"][-1]
        names = [tool["function"]["name"] for tool in asked.get("tools") or ()]
        if last["role"] == "user":
            return call(next(name for name in names if "tick_data" in name), {})
        if last["role"] == "tool" and (found := re.search(r"\btable: (\w+)", last["content"])):
            sql = f"SELECT count(*) AS n, max(price) AS peak, arg_max(tick, price) AS tick FROM {found[1]}"  # noqa: S608
            return call("run_sql", {"sql": sql})
        return {"content": f"SQL says: {last['content']}"}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}


@dataclass
class Served:
    url: str
    pid: int

    def memory(self) -> float:
        """What the process holds, in megabytes."""
        (kilobytes,) = re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        return int(kilobytes) / 1024

    def children(self) -> list[str]:
        return Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()


@asynccontextmanager
async def serving(configuration: Path) -> AsyncIterator[Served]:
    command = [sys.executable, "-m", "rightseat", "serve", "-c", str(configuration), "--port", "0"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        said = ""
        while "  origins" not in said:
            line = (await process.stdout.readline()).decode()
            assert line, f"the server ended: {said}"
            said += line
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+", said)[:1]
        yield Served(url, process.pid)
    finally:
        process.terminate()
        await process.wait()


async def post(client: httpx2.AsyncClient, messages: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The events of one answer."""
    body = {"messages": messages, "widgets": {"primary": [WIDGET], "secondary": [], "extra": []}}
    answer = await client.post("/v1/query", json=body)
    assert answer.status_code == 200, answer.text
    found = re.findall(r"event: (\w+)\r?\ndata: (.*)", answer.text)
    return [(name, json.loads(data)) for name, data in found]


async def ask(client: httpx2.AsyncClient) -> str:
    """One question, its function call, its data, and the answer's text."""
    messages: list[dict[str, Any]] = [{"role": "human", "content": "What was the highest price of the day?"}]
    *_, (name, wanted) = await post(client, messages)
    assert name == "copilotFunctionCall"
    function, arguments = wanted["function"], wanted["input_arguments"]
    messages.append({"role": "ai", "content": json.dumps({"function": function, "input_arguments": arguments})})
    item = {"content": ticks(), "data_format": {"data_type": "object", "parse_as": "table"}, "citable": True}
    result = {"role": "tool", "function": function, "input_arguments": arguments, "data": [{"items": [item]}]}
    events = await post(client, [*messages, result | {"extra_state": wanted["extra_state"]}])
    return "".join(data["delta"] for name, data in events if name == "copilotMessageChunk")


@pytest.mark.serial
async def test_ten_megabytes_are_answered_by_sql_in_a_small_prompt_and_leave_nothing_behind(
    serve: Serve, tmp_path: Path
) -> None:
    assert len(ticks()) > 10 * MEGABYTE
    provider, file = Provider(), tmp_path / "rightseat.yaml"
    async with asyncio.timeout(100), serve(provider.app) as url:
        file.write_text(CONFIGURATION.format(url=url))
        async with serving(file) as served, httpx2.AsyncClient(base_url=served.url, timeout=60) as client:
            await post(client, [{"role": "human", "content": "Hello?"}])
            before = served.memory()
            answers = [await ask(client) for _ in range(3)]
            await until(lambda: not served.children())  # they end after the answer's last byte
            after = served.memory()

    for answer in answers:
        assert str(PEAK) in answer
        assert str(ROWS) in answer
        assert str(PEAK_ROW) in answer
    assert max(provider.sizes) < WINDOW
    assert after - before < 10
