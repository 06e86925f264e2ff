"""The built-in demo model for a first start without a key: it understands no language, but streams and calls tools."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from rightseat.core.ids import new_id
from rightseat.core.messages import Message, Result
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, StopChunk, TextChunk
from rightseat.core.tools import Tool

ADVICE = (
    "I am the built-in demo model: I stream text and call tools, but I do not understand language. "
    "For real answers, configure a model in rightseat.yaml (`rightseat init` writes one), "
    "or set OPENAI_API_KEY and use no file."
)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    chunk_delay: float = Field(default=0.03, ge=0)
    """Seconds between two chunks of a response, so that streaming is visible."""


def build(options: Options) -> Model:
    return Scripted(options.chunk_delay)


class Scripted:
    """`Demo()` in Python: repeats the question, or calls the tool that it names."""

    def __init__(self, chunk_delay: float = 0.03) -> None:
        self._chunk_delay = chunk_delay

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        for chunk in respond(prompt):
            yield chunk
            await asyncio.sleep(self._chunk_delay)


def respond(prompt: Prompt) -> list[Chunk]:
    """Write JSON for a schema; or report the tool results, call the tool that the question names, or repeat it."""
    if schema := prompt.parameters.response_schema:
        value = make_json(schema, read_question(prompt.messages))
        return [TextChunk(json.dumps(value, ensure_ascii=False)), StopChunk("stop")]
    if results := read_results(prompt.messages):
        return stream_text(" ".join(f"The tool {result.name} returned: {result.content}" for result in results))
    question = read_question(prompt.messages)
    if prompt.parameters.tool_choice != "none":
        for tool in prompt.tools:
            if is_named(tool, question):
                return call(tool, question)
    return stream_text(f"You said: “{question}” {ADVICE}{list_tools(prompt.tools)}")


def read_results(messages: Sequence[Message]) -> list[Result]:
    """Return the results at the end of the conversation, which no assistant message has used yet."""
    results: list[Result] = []
    for message in reversed(messages):
        if message.role != "tool":
            break
        results[:0] = [part for part in message.parts if isinstance(part, Result)]
    return results


def read_question(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def stream_text(text: str) -> list[Chunk]:
    """Split the text into words, each with the space before it."""
    return [*(TextChunk(word) for word in re.findall(r"\s*\S+", text.rstrip())), StopChunk("stop")]


def call(tool: Tool, question: str) -> list[Chunk]:
    return [CallChunk(0, write_arguments(tool, question), new_id("call"), tool.name), StopChunk("tool_calls")]


def list_tools(tools: Sequence[Tool]) -> str:
    if not tools:
        return ""
    names = ", ".join(tool.name for tool in tools)
    return f" Name a tool in your question and I call it: {names}."


def is_named(tool: Tool, question: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(tool.name)}(?!\w)", question, re.IGNORECASE) is not None


def write_arguments(tool: Tool, question: str) -> str:
    """Fill the required parameters. Text is taken from behind the tool's name in the question: `get_weather Paris`."""
    text = re.split(re.escape(tool.name), question, maxsplit=1, flags=re.IGNORECASE)[-1].strip(" .,:;!?\"'`()")
    return json.dumps(make_object(tool.parameters, text), ensure_ascii=False)


def make_json(schema: Mapping[str, JsonValue], question: str) -> JsonValue:
    """Return a value for a response schema: an `enum` value that the question contains, and null if it is allowed."""
    properties = schema.get("properties")
    if isinstance(properties, dict):
        return {name: make_json(inner, question) for name, inner in properties.items() if isinstance(inner, dict)}
    alternatives = schema.get("anyOf")
    for inner in alternatives if isinstance(alternatives, list) else [dict(schema)]:
        match inner:
            case {"enum": [*values]} if named := [value for value in values if value and str(value) in question]:
                return named[0]
            case {"type": "null"} | {"const": None}:
                return None
            case {"type": [*types]} if "null" in types:
                return None
            case {"enum": [*values]} if None in values:
                return None
    return make_value(schema, question)


def make_value(schema: Mapping[str, JsonValue], text: str) -> JsonValue:
    """Return a simple value that fits the schema, if the schema is simple too."""
    match schema:
        case {"enum": [first, *_]} | {"examples": [first, *_]} | {"const": first} | {"default": first}:
            return first
        case {"type": "integer" | "number"}:
            digits = re.search(r"-?\d+", text)
            return int(digits[0]) if digits else 1
        case {"type": "boolean"}:
            return True
        case {"type": "array"}:
            return []
        case {"type": "object"} | {"properties": _}:
            return make_object(schema, text)
    return text or "example"


def make_object(schema: Mapping[str, JsonValue], text: str) -> JsonValue:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return {}
    wanted = {str(name): properties.get(str(name)) for name in required}
    return {name: make_value(inner, text) for name, inner in wanted.items() if isinstance(inner, dict)}
