"""Models behind OpenAI's Responses API: the request, and our own face as the server."""

import asyncio
import json
from pathlib import Path
from typing import Any

from rightseat.core.ask import Parameters
from rightseat.core.messages import Call, Message, Result, Text, system, user
from rightseat.core.model import CallChunk, Model, NoteChunk, Prompt, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.core.tools import Tool
from rightseat.models.openai import OpenAI as Behind
from rightseat.models.openai import Options, list_unsent, write_response_request
from rightseat.testing import ScriptedModel, ScriptedResponse, says
from tests.conftest import Serve
from tests.faces.openai.responses.serving import storing
from tests.faces.openai.serving import app

SEARCH = Tool("search", "Find things.", {"type": "object", "properties": {"q": {"type": "string"}}})
THOUGHT: ScriptedResponse = [
    ReasoningChunk("Hm."),
    TextChunk("I look."),
    CallChunk(0, '{"q": "a"}', "c1", "search"),
    StopChunk("tool_calls"),
    UsageChunk(7, 5, 3, 0, 2),
]


async def collect(model: Model, *messages: Message) -> list[Any]:
    async with asyncio.timeout(30):
        return [chunk async for chunk in model.stream(Prompt(messages, (SEARCH,)))]


def test_a_request_stores_nothing_and_asks_for_encrypted_reasoning() -> None:
    parameters = Parameters(max_tokens=9, temperature=0.0, tool_choice="required", parallel_calls=False)
    prompt = Prompt((system("Be brief."), user("Hi")), (SEARCH,), parameters)
    body = json.loads(write_response_request(Options(model="o9", extra={"reasoning": {"effort": "low"}}), prompt, "o9"))

    tools = body.pop("tools")
    assert body == {
        "model": "o9",
        "input": [
            {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        ],
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "temperature": 0.0,
        "max_output_tokens": 9,
        "reasoning": {"effort": "low"},
    }
    assert [tool["name"] for tool in tools] == ["search"]


def test_the_effort_of_a_client_is_sent() -> None:
    prompt = Prompt((user("Hi"),), (), Parameters(effort="high"))

    assert json.loads(write_response_request(Options(model="o9"), prompt, "o9"))["reasoning"] == {"effort": "high"}


def test_parameters_that_the_api_does_not_have_are_named() -> None:
    assert [text.split()[0] for text in list_unsent(Parameters(seed=1, stop=("x",), top_p=0.5))] == ["`stop`", "`seed`"]


async def test_reasoning_goes_back_to_the_server_that_sealed_it(serve: Serve, tmp_path: Path) -> None:
    scripted = ScriptedModel([[*THOUGHT, NoteChunk("kept", {"signed": "by the provider"})], says("Found.")])
    served = app(storing(scripted), reasoning_key=tmp_path / "reasoning.key")
    async with serve(served) as url, Behind("bare", base_url=f"{url}/v1", api="responses") as model:
        first = await collect(model, asked := user("Find a"))
        [kept] = [chunk.value for chunk in first if isinstance(chunk, NoteChunk) and chunk.name == "kept"]
        called = Message("assistant", (Text("I look."), Call("c1", "search", '{"q": "a"}')), extra=kept)
        second = await collect(model, asked, called, Message("tool", (Result("c1", "search", "found"),)))

    assert [chunk for chunk in first if not isinstance(chunk, NoteChunk)] == [
        ReasoningChunk("Hm."),
        TextChunk("I look."),
        CallChunk(2, "", "c1", "search"),
        CallChunk(2, '{"q": "a"}'),
        UsageChunk(7, 5, 3, 0, 2),
    ]
    assert TextChunk("Found.") in second
    [returned] = [message for message in scripted.prompts[1].messages if message.role == "assistant"]
    assert returned.extra == {"signed": "by the provider"}
