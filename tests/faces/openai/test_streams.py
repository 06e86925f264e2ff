"""Chat completions as they grow, to the byte, and as OpenAI's own client reads them."""

import asyncio
import json
import re
from typing import Any

import pytest
from pydantic import JsonValue

from rightseat.core.ask import NamedTool
from rightseat.core.messages import Call, Message, Result, Text, user
from rightseat.core.model import (
    CallChunk,
    Chunk,
    NoteChunk,
    Prompt,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from rightseat.models.completion.model import Completion
from rightseat.testing import ScriptedModel, ScriptedResponse, says
from tests.conftest import Serve
from tests.faces.copilotkit.serving import Way
from tests.faces.openai.serving import HI, Prompted, app, chunks, deltas, post, runtime, sdk, visiting
from tests.models.completion.families import generic
from tests.models.completion.playing import Player

VARYING = re.compile(rb'"chatcmpl-[0-9a-f]{32}","object":"([a-z.]+)","created":\d{10}')
HEAD = (
    b'data: {"id":ID,"object":"chat.completion.chunk","created":NOW,"model":"bare","system_fingerprint":FINGERPRINT,'
    b'"choices":['
)
ROLE = HEAD + b'{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n'
CALLS: ScriptedResponse = [
    TextChunk("I look."),
    CallChunk(0, "", "c1", "search"),
    CallChunk(0, '{"q":'),
    CallChunk(0, '"é\\n"}'),
    CallChunk(1, '{"x": 1}', "c2", "draw"),
    StopChunk("tool_calls"),
    UsageChunk(7, 5),
]
TOOLS: Any = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("search", "draw")
]


@pytest.fixture(params=["ours", "somebody's"])
def way(request: pytest.FixtureRequest) -> Any:
    return request.param


def plain(body: bytes) -> bytes:
    """Without what is made anew each time."""
    body = re.sub(rb'"fp_[0-9a-f]{10}"', b"FINGERPRINT", body)
    return VARYING.sub(rb'ID,"object":"\1","created":NOW', body)


async def test_a_text_is_written_to_the_byte(serve: Serve, way: Way) -> None:
    async with serve(app(runtime(says("Hel", 'l"o\n 👋')), way)) as url:
        answer = await post(url, stream=True)

    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert "x-rightseat-warnings" not in answer.headers
    assert plain(answer.content) == (
        ROLE
        + HEAD
        + b'{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}\n\n'
        + HEAD
        + '{"index":0,"delta":{"content":"l\\"o\\n 👋"},"finish_reason":null}]}\n\n'.encode()
        + HEAD
        + b'{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
        + b"data: [DONE]\n\n"
    )


async def test_calls_are_written_to_the_byte(serve: Serve) -> None:
    async with serve(app(runtime(CALLS))) as url:
        answer = await post(url, stream=True, tools=TOOLS, stream_options={"include_usage": True})

    written = [
        b'{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}',
        b'{"index":0,"delta":{"content":"I look."},"finish_reason":null}],"usage":null}',
        b'{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":'
        b'{"name":"search","arguments":""}}]},"finish_reason":null}],"usage":null}',
        b'{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\\"q\\":"}}]},'
        b'"finish_reason":null}],"usage":null}',
        '{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\\"é\\\\n\\"}"}}]},'
        '"finish_reason":null}],"usage":null}'.encode(),
        b'{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","type":"function","function":'
        b'{"name":"draw","arguments":""}}]},"finish_reason":null}],"usage":null}',
        b'{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\\"x\\": 1}"}}]},'
        b'"finish_reason":null}],"usage":null}',
        b'{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}',
        b'],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}',
    ]
    assert plain(answer.content) == b"".join(HEAD + line + b"\n\n" for line in written) + b"data: [DONE]\n\n"


async def test_reasoning_of_the_generic_style_is_reasoning_content(serve: Serve) -> None:
    arguments: dict[str, JsonValue] = {"q": "weather"}
    tool = {"type": "function", "function": {"name": "search", "parameters": {"properties": {"q": {"type": "string"}}}}}
    player = Player(generic("", [("search", arguments)]))
    async with Completion(player, style="generic") as model, serve(app(runtime(model))) as url:
        answer = await post(url, tools=[tool])

    message = answer.json()["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == (None, "Let me see.")
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == arguments


@pytest.mark.parametrize(
    "said",
    [
        says("Hel", "lo"),
        CALLS,
        [ReasoningChunk("Hm. "), ReasoningChunk("Yes."), TextChunk("Yes"), StopChunk("length"), UsageChunk(1, 2)],
        [TextChunk("The way"), StopChunk("filtered")],
        [StopChunk("stop")],
    ],
    ids=["text", "calls", "thought", "filtered", "nothing"],
)
async def test_the_pieces_are_those_of_the_whole(serve: Serve, said: ScriptedResponse) -> None:
    async with serve(app(runtime(said))) as url:
        whole = (await post(url, tools=TOOLS)).json()
        streamed = await post(url, tools=TOOLS, stream=True, stream_options={"include_usage": True})

    *_, last, usage = chunks(streamed.content)
    choice = whole["choices"][0]
    assert put_together(deltas(streamed.content)) == {
        "role": "assistant",
        "content": choice["message"]["content"] or "",
        "reasoning_content": choice["message"].get("reasoning_content", ""),
        "tool_calls": choice["message"].get("tool_calls", []),
    }
    assert last["choices"][0]["finish_reason"] == choice["finish_reason"]
    assert (usage["choices"], usage["usage"]) == ([], whole["usage"])
    assert whole["object"] == "chat.completion"


def put_together(deltas: list[Any]) -> dict[str, Any]:
    whole: dict[str, Any] = {"role": None, "content": "", "reasoning_content": "", "tool_calls": []}
    for delta in deltas:
        whole["role"] = delta.get("role") or whole["role"]
        whole["content"] += delta.get("content", "")
        whole["reasoning_content"] += delta.get("reasoning_content", "")
        for call in delta.get("tool_calls", ()):
            if "id" in call:
                assert call.pop("index") == len(whole["tool_calls"])
                whole["tool_calls"].append(call)
            else:
                whole["tool_calls"][call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    return whole


async def test_openais_own_client_reads_a_stream_with_calls(serve: Serve) -> None:
    async with serve(app(runtime(CALLS))) as url, sdk(url) as client:
        stream = client.chat.completions.stream(model="bare", messages=HI, tools=TOOLS)
        async with stream as events:
            async for _ in events:
                pass
            completion = await events.get_final_completion()

    message = completion.choices[0].message
    assert message.content == "I look."
    assert [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()] == [
        ("c1", "search", '{"q":"é\\n"}'),
        ("c2", "draw", '{"x": 1}'),
    ]
    assert completion.choices[0].finish_reason == "tool_calls"


async def test_openais_own_client_reads_a_whole_answer(serve: Serve) -> None:
    async with (
        serve(app(runtime([TextChunk("Hello"), StopChunk("stop"), UsageChunk(3, 4)]))) as url,
        sdk(url) as client,
    ):
        completion = await client.chat.completions.create(model="bare", messages=HI)

    assert completion.choices[0].message.content == "Hello"
    assert completion.usage
    assert completion.usage.total_tokens == 7


async def test_cached_tokens_are_reported_in_openais_form(serve: Serve) -> None:
    async with (
        serve(app(runtime([TextChunk("Hello"), StopChunk("stop"), UsageChunk(9, 4, 6, 2)]))) as url,
        sdk(url) as client,
    ):
        completion = await client.chat.completions.create(model="bare", messages=HI)

    assert completion.usage
    assert completion.usage.prompt_tokens_details
    assert completion.usage.prompt_tokens_details.cached_tokens == 6
    assert completion.usage.prompt_tokens_details.cache_write_tokens == 2


async def test_a_conversation_with_calls_reaches_the_model_as_it_was(serve: Serve) -> None:
    model = ScriptedModel([says("Done.")])
    call = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    said = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Find "}, {"type": "text", "text": "it."}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Found."},
    ]
    async with serve(app(runtime(model))) as url:
        answer = await post(url, messages=said, tools=TOOLS)

    assert answer.status_code == 200
    (prompt,) = model.prompts
    assert [(message.role, message.parts) for message in prompt.messages] == [
        ("system", (Text("Be brief."),)),
        ("user", (Text("Find "), Text("it."))),
        ("assistant", (Call("c1", "search", "{}"),)),
        ("tool", (Result("c1", "search", "Found."),)),
    ]


async def test_a_delta_is_sent_at_once(serve: Serve, way: Way) -> None:
    model = Prompted()
    async with serve(app(runtime(model), way)) as url, visiting(url) as client, asyncio.timeout(30):
        await model.pieces.put(TextChunk("Hel"))
        body = {"model": "bare", "messages": HI, "stream": True}
        async with client.stream("POST", "/chat/completions", json=body) as answer:
            pieces = answer.aiter_bytes()
            seen = await anext(pieces)
            while b'"Hel"' not in seen:
                seen += await anext(pieces)
            await model.pieces.put(TextChunk("lo"))
            seen = await anext(pieces)

    assert b'"lo"' in seen


# Log probabilities

TOKEN: JsonValue = {"token": "Hi", "logprob": -0.1, "bytes": [72, 105], "top_logprobs": []}


async def test_log_probabilities_come_with_their_text(serve: Serve) -> None:
    model = ScriptedModel([[NoteChunk("logprobs", [TOKEN]), TextChunk("Hi"), TextChunk("!"), StopChunk("stop")]])
    async with serve(app(runtime(model))) as url:
        whole = await post(url, logprobs=True, top_logprobs=2)
        streamed = await post(url, logprobs=True, stream=True)

    told = {"content": [TOKEN], "refusal": None}
    assert whole.json()["choices"][0]["logprobs"] == told
    assert [chunk["choices"][0].get("logprobs") for chunk in chunks(streamed.content)] == [None, told, None, None]
    assert [prompt.parameters.logprobs for prompt in model.prompts] == [2, 0]
    assert "warnings" not in whole.json()


async def test_logprobs_that_were_not_requested_are_omitted(serve: Serve) -> None:
    said: list[Chunk | Exception] = [NoteChunk("logprobs", [TOKEN]), TextChunk("Hi"), StopChunk("stop")]
    async with serve(app(runtime(said))) as url:
        answer = await post(url)

    assert answer.json()["choices"][0]["logprobs"] is None
    assert "warnings" not in answer.json()


async def test_log_probabilities_that_the_model_does_not_give_are_missed_aloud(serve: Serve) -> None:
    async with serve(app(runtime())) as url:
        whole = await post(url, logprobs=True)
        streamed = await post(url, logprobs=True, stream=True)

    assert "no `logprobs`" in whole.json()["warnings"][0]
    assert "no `logprobs`" in whole.headers["x-rightseat-warnings"]
    assert "no `logprobs`" in chunks(streamed.content)[-1]["warnings"][0]


# What the model gets


async def test_what_is_asked_of_the_model_reaches_it(serve: Serve) -> None:
    model = ScriptedModel([says("{}")])
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    async with serve(app(runtime(model))) as url:
        answer = await post(
            url,
            temperature=0,
            top_p=0.5,
            seed=7,
            stop=["x", "y"],
            max_tokens=3,
            max_completion_tokens=5,
            presence_penalty=-1,
            frequency_penalty=2,
            parallel_tool_calls=False,
            tools=TOOLS,
            tool_choice={"type": "function", "function": {"name": "draw"}},
            response_format={"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": schema}},
        )

    assert answer.status_code == 200
    given = model.prompts[0].parameters
    assert (given.temperature, given.top_p, given.seed, given.stop, given.max_tokens) == (0, 0.5, 7, ("x", "y"), 5)
    assert (given.presence_penalty, given.frequency_penalty, given.parallel_calls) == (-1, 2, False)
    assert given.tool_choice == NamedTool("draw")
    assert (given.response_schema, given.response_strict) == (schema, True)
    assert [tool.name for tool in model.prompts[0].tools] == ["search", "draw"]


async def test_a_hook_may_change_what_is_asked(serve: Serve) -> None:
    here = runtime(ScriptedModel(lambda prompt: says(text_of(prompt))))

    async def shout(ask: Any) -> Any:
        assert ask.properties == {"user": "u-1", "metadata": {"a": "b"}}
        return type(ask)(messages=(user("HI"),), agent=ask.agent, transient=True)

    here.hooks.before_request.append(shout)
    async with serve(app(here)) as url:
        answer = await post(url, user="u-1", metadata={"a": "b"})

    assert answer.json()["choices"][0]["message"]["content"] == "HI"


def text_of(prompt: Prompt) -> str:
    last: Message = prompt.messages[-1]
    return last.text


CUT: list[Chunk] = [
    CallChunk(0, '{"q": "a"}', "c1", "search"),
    CallChunk(1, '{"q": "I', "c2", "search"),
    StopChunk("length"),
]


@pytest.mark.parametrize("kept", [0, 1])
async def test_a_call_that_was_cut_off_is_left_out_with_a_warning(serve: Serve, kept: int) -> None:
    async with serve(app(runtime(CUT[1 - kept :]))) as url:
        body = (await post(url, tools=TOOLS)).json()

    (choice,) = body["choices"]
    assert [call["id"] for call in choice["message"].get("tool_calls", [])] == ["c1"][:kept]
    assert choice["finish_reason"] == "length"
    assert body["warnings"][0].startswith("The call of 'search' was cut off by the token limit (`max_tokens`)")


async def test_a_stream_ends_with_the_warning_about_a_call_that_was_cut_off(serve: Serve) -> None:
    async with serve(app(runtime(CUT))) as url:
        answer = await post(url, tools=TOOLS, stream=True)

    last = chunks(answer.content)[-1]
    assert last["choices"][0]["finish_reason"] == "length"
    assert last["warnings"][0].startswith("The call of 'search' was cut off")
