"""What the Messages API is sent."""

import base64
import json
from typing import Any

import msgspec
import pytest

from rightseat import config
from rightseat.core.ask import Ask, NamedTool, Parameters, ToolChoice, ToolOffer
from rightseat.core.errors import ConfigError
from rightseat.core.events import Custom
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Call, File, Image, Message, Result, Text, assistant, system, user
from rightseat.core.model import NoteChunk, Prompt
from rightseat.core.tools import Tool
from rightseat.models.anthropic import Anthropic, Options
from rightseat.models.anthropic.encoder import text_block, write_blocks
from rightseat.models.anthropic.request import write_request
from tests.core.test_runtime import answer, running
from tests.models.anthropic.test_decoder import KEY, model_of
from tests.models.asking import PROMPT
from tests.models.recorded import played
from tests.tcp import Script, Visit

SEARCH = Tool("search", "Find things.", {"type": "object", "properties": {"q": {"type": "string"}}})
HI = played("anthropic", "text")


def request(prompt: Prompt, **options: Any) -> dict[str, Any]:
    whole = write_request(Options(model="claude-sonnet-5", **options), prompt)
    body: dict[str, Any] = json.loads(json.dumps(whole.body))
    return body | {"notes": whole.notes}


def with_parameters(**parameters: Any) -> Prompt:
    return Prompt((user("Hi"),), (SEARCH,), Parameters(**parameters))


async def test_the_smallest_request() -> None:
    async with model_of(HI) as (model, server):
        _ = [chunk async for chunk in model.stream(PROMPT)]

    sent = server.requests[0]
    assert sent.line == "POST /v1/messages HTTP/1.1"
    assert sent.header("x-api-key") == KEY
    assert sent.header("anthropic-version") == "2026-10-21"
    assert sent.json == {
        "model": "claude-sonnet-5",
        "stream": True,
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    }


def test_system_messages_stand_in_front_and_results_are_the_users() -> None:
    called = Message("assistant", (Text("I look."), Call("c.1", "search", '{"q": "x"}'), Call("c2", "search", "{oops")))
    messages = (
        system("Be kind."),
        user("Find x"),
        called,
        Message("tool", (Result("c.1", "search", "found"),)),
        Message("tool", (Result("c2", "search", "broken", "invalid_arguments"),)),
        system("Be brief."),
        user("And?"),
        assistant("  "),
    )

    sent = request(Prompt(messages))

    assert [block["text"] for block in sent["system"]] == ["Be kind.", "Be brief."]
    assert sent["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Find x"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c_1", "name": "search", "input": {"q": "x"}},
                {"type": "tool_use", "id": "c2", "name": "search", "input": {"broken_json": "{oops"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c_1", "content": "found"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "broken", "is_error": True},
                {"type": "text", "text": "And?"},
            ],
        },
    ]


def test_an_assistant_that_spoke_first_is_introduced() -> None:
    sent = request(Prompt((assistant("Hello!"), user("Hi"))))

    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user"]


def test_images_and_documents_are_blocks_and_unsupported_files_are_reported() -> None:
    text = base64.b64encode(b"a,b\n1,2").decode()
    parts = (
        Image("image/png", "iVBO"),
        Image("", "", "https://example.com/a.png"),
        File("document", "application/pdf", "JVBE", name="a.pdf"),
        File("document", "application/pdf", "", "https://example.com/a.pdf"),
        File("document", "text/csv", text, name="a.csv"),
        File("audio", "audio/wav", "UklG", name="a.wav"),
    )

    sent = request(Prompt((Message("user", parts),)))

    assert sent["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
            "title": "a.pdf",
        },
        {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "a,b\n1,2"},
            "title": "a.csv",
        },
        {"type": "text", "text": "[An attachment could not be passed on: audio a.wav]"},
    ]
    assert sent["notes"] == ["Claude cannot read this attachment, so it was not sent: audio a.wav."]


@pytest.mark.parametrize(
    ("choice", "parallel", "written"),
    [
        (None, None, None),
        (None, True, None),
        ("auto", None, {"type": "auto"}),
        ("required", None, {"type": "any"}),
        ("none", False, {"type": "none"}),
        (NamedTool("search"), None, {"type": "tool", "name": "search"}),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
    ],
)
def test_which_tool_and_how_many(choice: ToolChoice | None, parallel: bool | None, written: Any) -> None:
    sent = request(with_parameters(tool_choice=choice, parallel_calls=parallel))

    assert sent.get("tool_choice") == written
    assert sent["tools"] == [{"name": "search", "description": "Find things.", "input_schema": SEARCH.parameters}]


def test_fields_that_this_api_does_not_have_are_omitted_and_reported() -> None:
    sent = request(with_parameters(temperature=0.0, top_p=0.5, seed=1, logprobs=0, stop=("END",), max_tokens=5))

    assert not {"temperature", "top_p", "seed", "logprobs"} & set(sent)
    assert sent["stop_sequences"] == ["END"]
    assert sent["max_tokens"] == 5
    assert [note.split(",")[0] for note in sent["notes"]] == [
        "Claude supports no `temperature` and no `top_p` any more",
        "Claude does not support `seed`",
        "Claude does not support `logprobs`",
    ]


def test_the_older_version_of_the_api_takes_a_temperature() -> None:
    sent = request(with_parameters(top_p=0.5), version="2023-06-01", temperature=0.2)

    assert (sent["temperature"], sent["top_p"], sent["notes"]) == (0.2, 0.5, [])


async def test_omissions_are_reported_before_the_response() -> None:
    async with model_of(HI) as (model, _):
        first, *_ = [chunk async for chunk in model.stream(with_parameters(seed=1))]

    assert first == NoteChunk("warning", "Claude does not support `seed`, so it was not sent.")


def test_the_effort_of_a_client_replaces_the_configured_one() -> None:
    assert request(with_parameters(effort="max"), effort="low")["output_config"] == {"effort": "max"}
    assert request(with_parameters(effort="minimal"), client_effort=True)["output_config"] == {"effort": "low"}
    assert "output_config" not in request(with_parameters(effort="high"))
    refused = request(with_parameters(effort="max"), effort="low", client_effort=False)
    assert refused["output_config"] == {"effort": "low"}


def test_a_schema_is_closed_and_any_object_is_asked_for_in_words() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {}}}}}

    held = request(with_parameters(response_schema=schema), effort="low")["output_config"]
    asked = request(with_parameters(response_schema={"type": "object"}))

    assert held["effort"] == "low"
    assert held["format"]["schema"]["additionalProperties"] is False
    assert held["format"]["schema"]["properties"]["a"]["items"]["additionalProperties"] is False
    assert "output_config" not in asked
    assert "JSON object" in asked["system"][-1]["text"]


def test_a_cache_is_marked_where_what_stays_the_same_ends() -> None:
    prompt = Prompt((system("Be kind."), user("Hi")), (SEARCH, Tool("draw", "", {})))

    sent = request(prompt, cache="1h")

    mark = {"type": "ephemeral", "ttl": "1h"}
    assert [tool.get("cache_control") for tool in sent["tools"]] == [None, mark]
    assert sent["system"][-1]["cache_control"] == mark
    assert sent["messages"][-1]["content"][-1]["cache_control"] == mark


@pytest.mark.parametrize(
    ("thinking", "parameters", "written", "why"),
    [
        (2048, {}, {"type": "enabled", "budget_tokens": 2048}, None),
        ("adaptive", {}, {"type": "adaptive"}, None),
        ("disabled", {"tool_choice": "required"}, {"type": "disabled"}, None),
        ("adaptive", {"tool_choice": "required"}, {"type": "disabled"}, "it must call a tool"),
        (2048, {"max_tokens": 2048}, {"type": "disabled"}, "its response may have 2048 tokens"),
    ],
)
def test_thinking_is_switched_off_where_it_would_be_refused(
    thinking: Any, parameters: Any, written: Any, why: str | None
) -> None:
    sent = request(with_parameters(**parameters), thinking=thinking)

    assert sent["thinking"] == written
    assert [why in note for note in sent["notes"] if why] == ([True] if why else [])


def one_after_another(*answers: bytes) -> Script:
    async def script(visit: Visit) -> None:
        for whole in answers:
            await visit.request()
            await visit.send(whole)

    return script


SIGNED = ["thinking", "redacted_thinking", "text", "tool_use"]


async def test_signed_thoughts_come_back_with_the_result_of_a_tool() -> None:
    """Through the loop, the framing and the folding."""

    async def weather(_: object) -> str:
        return "rain"

    tool = Tool("get_weather", "", {"type": "object"}, weather)
    thinking = one_after_another(played("anthropic", "thinking-then-tool-call"), HI)
    async with (
        model_of(thinking, thinking=2048) as (model, server),
        running(Loop(model, [Box(tool)], approval="never")) as runtime,
    ):
        await answer(runtime, Ask(messages=(user("Weather?"),), run_id="r"))

    said = server.requests[1].json["messages"][1]["content"]
    assert [block["type"] for block in said] == SIGNED
    assert (said[0]["signature"], said[1]["data"]) == ("EqQBCgIYAhIMsigned", "EmwKAhgBEgyredacted")
    assert server.requests[1].json["thinking"] == {"type": "enabled", "budget_tokens": 2048}


async def test_signed_thoughts_come_back_when_a_client_brings_the_result() -> None:
    """The client knows nothing of them: what it sends back has the call and its result, and the thread has the rest."""
    offer = ToolOffer("get_weather", "", {"type": "object"})
    thinking = one_after_another(played("anthropic", "thinking-then-tool-call"), HI)
    async with model_of(thinking, thinking=2048) as (model, server), running(Loop(model)) as runtime:
        first = Ask(messages=(user("Weather?"),), tools=(offer,), run_id="r1", thread_id="t")
        events = await answer(runtime, first)
        called = Message("assistant", (Text("I look it up."), Call("toolu_01W", "get_weather", '{"city": "Oslo"}')))
        back = (*first.messages, called, Message("tool", (Result("toolu_01W", "get_weather", "rain"),)))
        await answer(runtime, Ask(messages=back, tools=(offer,), run_id="r2", thread_id="t"))

    assert any(isinstance(event, Custom) and event.name == "model.kept" for event in events)
    assert [block["type"] for block in server.requests[1].json["messages"][1]["content"]] == SIGNED


class Box:
    def __init__(self, *tools: Tool) -> None:
        self._tools = tools

    async def tools(self, ask: Ask) -> tuple[Tool, ...]:
        return self._tools


def test_thoughts_of_another_model_are_not_sent_and_thinking_waits_for_the_next_turn() -> None:
    kept: Any = {"anthropic": {"model": "claude-other", "thoughts": [[0, {"type": "thinking"}]]}}
    called = Message("assistant", (Call("c1", "search", "{}"),), extra=kept)
    prompt = Prompt((user("Find"), called, Message("tool", (Result("c1", "search", "x"),))), (SEARCH,))

    sent = request(prompt, thinking=2048)

    assert [block["type"] for block in sent["messages"][1]["content"]] == ["tool_use"]
    assert sent["thinking"] == {"type": "disabled"}
    assert "was not kept" in sent["notes"][0]


# Where it is sent


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ({}, "https://api.anthropic.com"),
        ({"platform": "bedrock", "region": "us-east-1"}, "https://bedrock-mantle.us-east-1.api.aws/anthropic"),
        ({"platform": "bedrock-runtime", "region": "us-east-1"}, "https://bedrock-runtime.us-east-1.amazonaws.com"),
        ({"platform": "foundry", "resource": "ours"}, "https://ours.services.ai.azure.com/anthropic"),
        (
            {"platform": "vertex", "region": "europe-west1", "project": "p"},
            "https://europe-west1-aiplatform.googleapis.com/v1",
        ),
        ({"platform": "vertex", "region": "global", "project": "p"}, "https://aiplatform.googleapis.com/v1"),
    ],
)
def test_every_platform_has_its_address(options: dict[str, Any], address: str) -> None:
    assert Options(model="m", **options).address == address


@pytest.mark.parametrize(
    ("platform", "lacking"),
    [("bedrock", "`region`"), ("vertex", "`region` and `project`"), ("foundry", "`resource`")],
)
def test_what_a_platform_needs_is_asked_for(platform: str, lacking: str) -> None:
    with pytest.raises(ConfigError, match=rf"models.default: the platform {platform} needs {lacking}\.$"):
        config.parse(f"models: {{default: {{type: anthropic, model: m, platform: {platform}}}}}")


async def test_bedrock_takes_its_key_as_a_bearer() -> None:
    async with model_of(HI, platform="bedrock", region="us-east-1") as (model, server):
        _ = [chunk async for chunk in model.stream(PROMPT)]

    assert server.requests[0].header("authorization") == f"Bearer {KEY}"
    assert server.requests[0].header("x-api-key") is None


async def test_google_cloud_has_the_model_in_the_path_and_the_version_in_the_body() -> None:
    async with model_of(HI, platform="vertex", region="global", project="ours") as (model, server):
        _ = [chunk async for chunk in model.stream(PROMPT)]

    sent = server.requests[0]
    assert sent.line.split()[1].endswith("/publishers/anthropic/models/claude-sonnet-5:streamRawPredict")
    assert sent.json["anthropic_version"] == "2026-10-21"
    assert "model" not in sent.json


def test_a_model_can_be_made_in_python() -> None:
    assert Anthropic("m", api_key="k").options.model == "m"


@pytest.mark.parametrize("place", [10**19, -5])
def test_reasoning_at_an_impossible_position_is_put_at_the_nearest(place: int) -> None:
    thought: dict[str, Any] = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    extra: dict[str, Any] = {"anthropic": {"model": "m", "thoughts": [[place, thought]]}}
    message = msgspec.structs.replace(assistant("Hi."), extra=extra)

    blocks = write_blocks(message, "m", [])

    assert blocks == ([thought, text_block("Hi.")] if place < 0 else [text_block("Hi."), thought])
