"""The built-in model of a first start without a key. It thinks nothing, and says so; but it streams and calls tools."""

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
    "I am the built-in scripted model: I stream and I call tools, but I do not think. "
    "For real answers name a model in rightseat.yaml (`rightseat init` writes a first one), "
    "or set OPENAI_API_KEY where there is no such file."
)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    pause: float = Field(default=0.03, ge=0)
    """How many seconds pass between two pieces of an answer, so that streaming can be seen."""


def build(options: Options) -> Model:
    return Scripted(options.pause)


class Scripted:
    def __init__(self, pause: float = 0.03) -> None:
        self._pause = pause

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        for chunk in answer(prompt):
            yield chunk
            await asyncio.sleep(self._pause)


def answer(prompt: Prompt) -> list[Chunk]:
    """Say what the tools said; or call the tool that the question names; or repeat the question."""
    if results := read_results(prompt.messages):
        return speak(" ".join(f"The tool {result.name} said: {result.content}" for result in results))
    question = read_question(prompt.messages)
    if prompt.parameters.tool_choice != "none":
        for tool in prompt.tools:
            if is_named(tool, question):
                return call(tool, question)
    return speak(f"You said: “{question}” {ADVICE}{introduce(prompt.tools)}")


def read_results(messages: Sequence[Message]) -> list[Result]:
    """The results at the end of the conversation: those that nobody has spoken about yet."""
    results: list[Result] = []
    for message in reversed(messages):
        if message.role != "tool":
            break
        results[:0] = [part for part in message.parts if isinstance(part, Result)]
    return results


def read_question(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def speak(text: str) -> list[Chunk]:
    """In words, each with the space before it."""
    return [*(TextChunk(word) for word in re.findall(r"\s*\S+", text.rstrip())), StopChunk("stop")]


def call(tool: Tool, question: str) -> list[Chunk]:
    return [CallChunk(0, write_arguments(tool, question), new_id("call"), tool.name), StopChunk("calls")]


def introduce(tools: Sequence[Tool]) -> str:
    if not tools:
        return ""
    names = ", ".join(tool.name for tool in tools)
    return f" Name a tool in your question and I call it: {names}."


def is_named(tool: Tool, question: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(tool.name)}(?!\w)", question, re.IGNORECASE) is not None


def write_arguments(tool: Tool, question: str) -> str:
    """What the tool cannot do without. Text is what follows the tool's name in the question: `get_weather Paris`."""
    rest = re.split(re.escape(tool.name), question, maxsplit=1, flags=re.IGNORECASE)[-1].strip(" .,:;!?\"'`()")
    return json.dumps(invent_object(tool.parameters, rest), ensure_ascii=False)


def invent(schema: Mapping[str, JsonValue], text: str) -> JsonValue:
    """A simple value that fits the schema, where the schema is simple too."""
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
            return invent_object(schema, text)
    return text or "example"


def invent_object(schema: Mapping[str, JsonValue], text: str) -> JsonValue:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return {}
    wanted = {str(name): properties.get(str(name)) for name in required}
    return {name: invent(inner, text) for name, inner in wanted.items() if isinstance(inner, dict)}
