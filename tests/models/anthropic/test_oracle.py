"""Our reading and writing of the Messages API, held against Anthropic's own SDK: the same bytes to both."""

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anthropic
import pytest
from msgspec.structs import astuple

from rightseat.core.ask import NamedTool, Parameters
from rightseat.core.errors import ModelError
from rightseat.core.events import ModelResponseEnded, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStarted
from rightseat.core.messages import Call, Image, Message, Result, Text, system, user
from rightseat.core.model import Prompt
from rightseat.core.stream.framer import frame
from rightseat.core.tools import Tool
from rightseat.models.anthropic import Anthropic
from rightseat.models.anthropic.decoder import REASONS
from tests.models.anthropic.test_decoder import KEY, model_of
from tests.models.recorded import RECORDINGS, answer, once, played, refusal

BROKEN = ("error-mid-stream", "api-error-mid-stream", "broken-off")
FILES = sorted((RECORDINGS / "anthropic").glob("*.response.txt"))
WHOLE = [pytest.param(path, id=path.stem) for path in FILES if not path.name.startswith(BROKEN)]


@dataclass
class Said:
    text: str = ""
    thoughts: str = ""
    calls: dict[str, list[str]] = field(default_factory=dict)  # name and arguments
    reason: str | None = None
    usage: tuple[int, int, int, int, int] | None = None  # as our `Usage` has them; Claude reports no reasoning tokens


def sdk(url: str) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0)


async def theirs(url: str) -> Said:
    said, ids, read = Said(), dict[int, str](), [0, 0, 0, 0]
    async with sdk(url) as client:
        stream = await client.messages.create(
            model="m", max_tokens=10, messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        async for event in stream:
            match event.type:
                case "message_start":
                    usage = event.message.usage
                    read = [usage.input_tokens, usage.cache_creation_input_tokens or 0]
                    read += [usage.cache_read_input_tokens or 0, usage.output_tokens]
                case "content_block_start" if event.content_block.type == "tool_use":
                    ids[event.index] = event.content_block.id
                    said.calls[event.content_block.id] = [event.content_block.name, ""]
                case "content_block_delta":
                    match event.delta.type:
                        case "text_delta":
                            said.text += event.delta.text
                        case "thinking_delta":
                            said.thoughts += event.delta.thinking
                        case "input_json_delta" if event.index in ids:
                            said.calls[ids[event.index]][1] += event.delta.partial_json
                case "message_delta":
                    said.reason = REASONS[event.delta.stop_reason or "end_turn"]
                    said.usage = (sum(read[:3]), event.usage.output_tokens, read[2], read[1], 0)
    return said


async def ours(model: Anthropic) -> Said:
    said = Said()
    async for event in frame(model.stream(Prompt((user("Hi"),)))):
        match event:
            case TextDelta(text=text):
                said.text += text
            case ReasoningDelta(text=text):
                said.thoughts += text
            case ToolCallStarted(call_id=id, name=name):
                said.calls[id] = [name, ""]
            case ToolCallDelta(call_id=id, text=text):
                said.calls[id][1] += text
            case ModelResponseEnded(reason=reason, usage=usage):
                said.reason = reason
                said.usage = astuple(usage) if usage else None
    return said


@pytest.mark.parametrize("path", WHOLE)
async def test_we_read_what_the_sdk_reads(path: Path) -> None:
    async with model_of(answer(path)) as (model, server):
        with warnings.catch_warnings(action="ignore"):  # a kind of event that the SDK does not know
            expected = await theirs(server.url)
        said = await ours(model)

    assert said == expected


@pytest.mark.parametrize("name", BROKEN[:2])
async def test_what_is_an_error_to_the_sdk_is_one_to_us(name: str) -> None:
    async with model_of(once(played("anthropic", name))) as (model, server):
        with pytest.raises(anthropic.APIError):
            await theirs(server.url)
        with pytest.raises(ModelError):
            await ours(model)


@pytest.mark.parametrize(
    ("status", "kind"), [("401 x", anthropic.AuthenticationError), ("429 x", anthropic.RateLimitError)]
)
async def test_a_refusal_is_one_to_both(status: str, kind: type[anthropic.APIStatusError]) -> None:
    async with model_of(refusal(status, "{}")) as (model, server):
        with pytest.raises(kind):
            await theirs(server.url)
        with pytest.raises(ModelError):
            await ours(model)


async def test_the_same_conversation_becomes_the_same_request() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}}
    prompt = Prompt(
        (
            system("Be kind."),
            Message("user", (Text("What is it?"), Image("image/png", "iVBO"))),
            Message("assistant", (Call("c1", "search", '{"q": "x"}'),)),
            Message("tool", (Result("c1", "search", "a cat"),)),
        ),
        (Tool("search", "Find things.", schema, strict=True),),
        Parameters(max_tokens=7, stop=("END",), tool_choice=NamedTool("search"), parallel_calls=False),
    )
    image: Any = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
    async with model_of(played("anthropic", "text"), cache="5m") as (model, server), sdk(server.url) as client:
        _ = [chunk async for chunk in model.stream(prompt)]
        control: Any = {"type": "ephemeral", "ttl": "5m"}
        await client.messages.create(
            model="claude-sonnet-5",
            max_tokens=7,
            stream=True,
            stop_sequences=["END"],
            system=[{"type": "text", "text": "Be kind.", "cache_control": control}],
            messages=[
                {"role": "user", "content": [{"type": "text", "text": "What is it?"}, image]},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "x"}}],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "c1", "content": "a cat", "cache_control": control}
                    ],
                },
            ],
            tools=[
                {
                    "name": "search",
                    "description": "Find things.",
                    "input_schema": schema,
                    "strict": True,
                    "cache_control": control,
                }
            ],
            tool_choice={"type": "tool", "name": "search", "disable_parallel_tool_use": True},
        )

    mine, its = server.requests
    assert mine.json == its.json
    assert mine.line == its.line
    assert mine.header("anthropic-version") == its.header("anthropic-version")
