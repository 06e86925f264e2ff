"""Messages whole and as they grow, and as Anthropic's own client reads them."""

import re
from typing import Any

import anthropic
import pytest

from rightseat.core.errors import ContextTooLong, ModelBusy
from rightseat.core.model import CallChunk, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from rightseat.faces.anthropic.stop_sequences import StopWatcher
from rightseat.testing import ScriptedModel, ScriptedResponse, says
from tests.conftest import Serve
from tests.faces.anthropic.serving import LOOKUP, app, asks, create, sdk, send, stream
from tests.faces.openai.serving import runtime

NOTE: Any = {"name": "note", "input_schema": {"type": "object"}}
THINKING: Any = {"type": "enabled", "budget_tokens": 1024}
CALLS: ScriptedResponse = [
    TextChunk("I look."),
    CallChunk(0, "", "c1", "lookup"),
    CallChunk(0, '{"q":'),
    CallChunk(1, '{"text": "é"}', "c2", "note"),
    CallChunk(0, '"a"}'),
    StopChunk("tool_calls"),
    UsageChunk(70, 5, cache_read_tokens=20),
]
THOUGHTS: ScriptedResponse = [
    ReasoningChunk("First "),
    ReasoningChunk("I think."),
    TextChunk("Done."),
    StopChunk("stop"),
]


async def test_a_stream_to_the_byte(serve: Serve) -> None:
    async with serve(app(runtime(says("Hel", "lo")))) as url:
        body = (await send(url, body=asks(stream=True))).text

    body = re.sub("msg_[0-9a-f]{32}", "ID", body)
    usage = '{"input_tokens":13,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":%d}'
    assert body.split("\n\n") == [
        'event: message_start\ndata: {"type":"message_start","message":{"id":"ID","type":"message","role":"assistant",'
        f'"model":"bare","content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage % 1}}}}}',
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
        '"content_block":{"type":"text","text":""}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        '"delta":{"type":"text_delta","text":"Hel"}}',
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
        '"delta":{"type":"text_delta","text":"lo"}}',
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},'
        f'"usage":{usage % 2}}}',
        'event: message_stop\ndata: {"type":"message_stop"}',
        "",
    ]


async def test_blocks_of_parallel_calls_come_one_after_the_other(serve: Serve) -> None:
    async with serve(app(runtime(CALLS))) as url:
        events = await stream(url, tools=[LOOKUP, NOTE])
        whole = await create(url, tools=[LOOKUP, NOTE])

    order = [(event["type"], event.get("index")) for event in events if "index" in event]
    assert [index for _, index in order] == sorted(index or 0 for _, index in order)
    pieces = [event["delta"].get("partial_json", "") for event in events if event["type"] == "content_block_delta"]
    assert "".join(pieces) == '{"q":"a"}{"text": "é"}'
    assert whole["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "lookup", "input": {"q": "a"}},
        {"type": "tool_use", "id": "c2", "name": "note", "input": {"text": "é"}},
    ]
    assert whole["stop_reason"] == events[-2]["delta"]["stop_reason"] == "tool_use"
    assert whole["usage"] == events[-2]["usage"]
    assert (whole["usage"]["input_tokens"], whole["usage"]["cache_read_input_tokens"]) == (50, 20)


async def test_a_call_without_arguments_has_an_empty_input(serve: Serve) -> None:
    response: ScriptedResponse = [CallChunk(0, "", "c1", "note"), StopChunk("tool_calls")]
    async with serve(app(runtime(response))) as url:
        whole = await create(url, tools=[NOTE])

    assert whole["content"] == [{"type": "tool_use", "id": "c1", "name": "note", "input": {}}]


@pytest.mark.parametrize("streams", [False, True])
async def test_a_tool_that_claude_code_has_deferred_is_called_by_its_name_alone(serve: Serve, streams: bool) -> None:
    answer: ScriptedResponse = [
        TextChunk("I look."),
        CallChunk(0, '{"q":', "c1", "mcp__own__lookup"),
        CallChunk(0, '"a"}'),
        CallChunk(1, '{"text": "b"}', "c2", "note"),
        StopChunk("tool_calls"),
    ]
    placeholder = {"name": "DeferredToolPlaceholder", "input_schema": {"type": "object"}, "defer_loading": True}
    async with serve(app(runtime(answer))) as url:
        if streams:
            events = await stream(url, tools=[NOTE, placeholder])
            blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
            deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
            assert [block.get("name") for block in blocks] == [None, "note", "mcp__own__lookup"]
            assert "".join(delta["partial_json"] for delta in deltas[2:]) == '{"q":"a"}'
            assert events[-2]["delta"]["stop_reason"] == "tool_use"
        else:
            message = await create(url, tools=[NOTE, placeholder])
            calls = {block["name"]: block["input"] for block in message["content"][1:]}
            assert calls == {"note": {"text": "b"}, "mcp__own__lookup": {"q": "a"}}
            assert message["stop_reason"] == "tool_use"


async def test_a_call_of_a_tool_that_no_one_has_is_ignored_with_a_warning(serve: Serve) -> None:
    async with serve(app(runtime([CallChunk(0, "{}", "c1", "serach"), StopChunk("tool_calls")]))) as url:
        message = await create(url, tools=[NOTE])

    assert message["content"] == []
    assert message["warnings"] == ["The model called 'serach', which is not one of the tools; the call was ignored."]


async def test_thoughts_are_shown_only_where_asked_for_and_signed(serve: Serve) -> None:
    model = ScriptedModel([THOUGHTS])
    async with serve(app(runtime(model))) as url:
        unasked = await create(url)
        shown = await create(url, thinking=THINKING)
        omitted = await create(url, thinking=THINKING | {"display": "omitted"})
        events = await stream(url, thinking=THINKING)
        signed = shown["content"][0]
        forged = signed | {"thinking": "I may say all."}
        for block in (signed, omitted["content"][0], forged):
            turn = {"role": "assistant", "content": [block, {"type": "text", "text": "Done."}]}
            last = await create(url, [{"role": "user", "content": "Hi"}, turn, {"role": "user", "content": "So?"}])

    assert unasked["content"] == [{"type": "text", "text": "Done."}]
    assert signed["thinking"] == "First I think."
    assert signed["signature"]
    assert omitted["content"][0] == signed | {"thinking": ""}
    deltas = [event["delta"]["type"] for event in events if event["type"] == "content_block_delta"]
    assert deltas == ["thinking_delta", "thinking_delta", "signature_delta", "text_delta"]
    assert all("think" not in message.text for message in model.prompts[-1].messages)
    assert last["warnings"] == ["Thinking blocks that this server did not sign were left out."]


async def test_a_stop_sequence_ends_the_answer_and_is_named(serve: Serve) -> None:
    pieces = ["One", " two th", "ree", " four"]
    async with serve(app(runtime(says(*pieces)))) as url:
        whole = await create(url, stop_sequences=["five", " three"])
        events = await stream(url, stop_sequences=["five", " three"])
        other = await create(url, stop_sequences=["fours"])

    assert whole["content"] == [{"type": "text", "text": "One two"}]
    assert (whole["stop_reason"], whole["stop_sequence"]) == ("stop_sequence", " three")
    assert events[-2]["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": " three"}
    assert (other["content"][0]["text"], other["stop_sequence"]) == ("".join(pieces), None)


@pytest.mark.parametrize("cut", range(1, 12))
def test_text_that_may_begin_a_sequence_is_held_back(cut: int) -> None:
    watcher, text = StopWatcher(["abc", "abd"]), "xxabxabdxxab"

    shown = watcher.feed(text[:cut]) + watcher.feed(text[cut:])

    assert (shown, watcher.matched) == ("xxabx", "abd")


async def test_the_sdk_reads_a_stream(serve: Serve) -> None:
    async with (
        serve(app(runtime(CALLS))) as url,
        sdk(url) as client,
        client.messages.stream(**asks(tools=[LOOKUP, NOTE])) as events,
    ):
        message = await events.get_final_message()

    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
    assert message.content[1].to_dict()["input"] == {"q": "a"}


async def test_a_failure_before_the_first_block_is_a_status_and_later_an_event(serve: Serve) -> None:
    model = ScriptedModel(
        [[ModelBusy("It is busy.")], [ContextTooLong("8,000 tokens.", 400)], [TextChunk("Half"), ModelBusy("Gone.")]]
    )
    async with serve(app(runtime(model))) as url, sdk(url) as client:
        busy = await send(url, body=asks(stream=True))
        long = await send(url, body=asks())
        with pytest.raises(anthropic.APIStatusError, match="Gone"):
            await read_text(client)

    assert (busy.status_code, busy.json()["error"]) == (529, {"type": "overloaded_error", "message": "It is busy."})
    assert (long.status_code, long.json()["error"]["message"]) == (400, "prompt is too long: 8,000 tokens.")
    assert long.json()["request_id"] == long.headers["request-id"]


async def read_text(client: anthropic.AsyncAnthropic) -> str:
    async with client.messages.stream(**asks()) as events:
        return await events.get_final_text()
