"""Streams of model servers and of agents, recorded and spoilt: whatever comes, the run ends, with the framing rules
kept and, where it fails, with an error of ours."""

import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from rightseat.agents.agui import AguiAgent
from rightseat.agents.agui import Options as AGUIOptions
from rightseat.agents.copilotkit import EndpointAgent
from rightseat.agents.copilotkit import Options as RemoteOptions
from rightseat.agents.langgraph.platform import LangGraphPlatform
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask, Parameters, ToolOffer
from rightseat.core.errors import InternalError
from rightseat.core.events import Event, RunFailed, ToolCallReturned, ToolCallStarted
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import user
from rightseat.core.model import Model
from rightseat.core.runtime import Runtime
from rightseat.core.stream import codec
from rightseat.egress.endpoint import Endpoint
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.models.anthropic import Anthropic
from rightseat.models.completion.model import Completion
from rightseat.models.google import Google
from rightseat.models.openai import OpenAI
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import check_order
from rightseat.toolboxes.functions import FunctionToolbox, ToolOptions, make_tool
from rightseat.wire import eventstream
from tests.contracts.test_models import HERMES
from tests.fuzz.engine import Check, Target
from tests.fuzz.mutation import mutate_bytes, mutate_json, split, write_json
from tests.models.completion.backends.playing import PLAYERS, PROPS, Played, answer, build
from tests.models.recorded import RECORDINGS
from tests.tcp import Visit, playing
from tests.wire.test_eventstream import chunk as framed

GRAPHQL = RECORDINGS / "copilotkit-graphql"
SSE = "text/event-stream"
STATUSES = (400, 401, 404, 413, 429, 500, 503, 529, 204, 302)

Streams = Mapping[str, list[bytes]]
"""Good streams by name, each as its events with all their lines."""


def recorded(paths: Iterable[Path]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    for path in paths:
        body = re.split(rb"\r?\n\r?\n", path.read_bytes(), maxsplit=1)[1]
        found[path.name] = [event for event in re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", body) if event]
    return found


def lines(paths: Iterable[Path]) -> dict[str, list[bytes]]:
    bodies = {path.name: re.split(rb"\r?\n\r?\n", path.read_bytes(), maxsplit=1)[1] for path in paths}
    return {name: body.splitlines(keepends=True) for name, body in bodies.items() if body.count(b"\n") > 1}


# What is made of a good stream


def make(streams: Streams, kind: str, frame: Callable[[bytes], bytes], random: Random) -> Any:
    """The status, the content type, and the pieces in which the body comes."""
    events = list(random.choice(list(streams.values())))
    status = random.choice(STATUSES) if random.random() < 0.04 else 200
    kind = random.choice(("application/json", "text/html", "", "text/plain")) if random.random() < 0.04 else kind
    for _ in range(random.randint(1, 3)):
        events = spoil(random, events)
    body = b"".join(frame(event) for event in events)
    if random.random() < 0.3:
        body = mutate_bytes(random, body)
    return status, kind, split(random, body)


def spoil(random: Random, events: list[bytes]) -> list[bytes]:
    if not events:
        return events
    at, other = random.randrange(len(events)), random.randrange(len(events))
    match random.randrange(7):
        case 0:
            return events[:at]
        case 1:
            return [*events[:at], *events[other : other + 3], *events[at:]]
        case 2:
            events[at], events[other] = events[other], events[at]
            return events
        case 3:
            return [*events[:at], *events[at + 1 :]]
        case _:
            return [*events[:at], spoil_event(random, events[at]), *events[at + 1 :]]


def spoil_event(random: Random, event: bytes) -> bytes:
    """In its JSON, where it has any: bytes that are no JSON are refused early."""
    start, end = event.find(b"{"), event.rfind(b"}")
    try:
        value = json.loads(event[start : end + 1])
    except (ValueError, RecursionError):  # an earlier change may have made it deep
        return mutate_bytes(random, event)
    return event[:start] + write_json(random, mutate_json(random, value, most=3)) + event[end + 1 :]


def as_it_is(event: bytes) -> bytes:
    return event


def in_frame(event: bytes) -> bytes:
    return framed(event.partition(b"data: ")[2].strip())


# What the stream is read by


def echo(q: Any = None, x: Any = None, city: Any = None, color: Any = None) -> str:
    """Gives back what it gets."""
    return f"{q} {x} {city} {color}"


NAMES = ("search", "draw", "get_weather", "setColor", "lookup")
OFFER = ToolOffer("showChart", "Draws.", {"type": "object", "properties": {"title": {"type": "string"}}})
PARAMETERS = Parameters(max_tokens=100)


@asynccontextmanager
async def opened(
    agent: Callable[[str], AbstractAsyncContextManager[Agent]],
    media_type: str,
    told: Mapping[str, Any],
) -> AsyncIterator[Check]:
    """A server that says the case to every request but those for paths that end as one in `told` does."""
    case: Any = (200, media_type, [])

    async def script(visit: Visit) -> None:
        while True:
            asked = (await visit.request()).line.split()[1]
            known = next((name for name in told if asked.endswith(name)), None)
            if known is not None:
                await visit.send(answer(200, told[known]))
                continue
            status, kind, pieces = case
            head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
            visit.writer.write(head.encode())
            for piece in pieces:
                if piece:
                    await visit.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            await visit.send(b"0\r\n\r\n")

    async with playing(script) as server, agent(server.url) as spoken:

        async def check(given: Any) -> None:
            nonlocal case
            case = given
            server.requests.clear()
            runtime = Runtime({"default": spoken}, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine())
            await judge(runtime)

        yield check


async def judge(runtime: Runtime) -> None:
    ask = await runtime.start(Ask(messages=(user("Hi"),), tools=(OFFER,), state={"n": 2}, parameters=PARAMETERS))
    events = [entry.event async for entries in runtime.follow(ask.run_id) for entry in entries]

    check_order(event for event in events if not is_earlier(event, events))
    assert not isinstance(events[-1], RunFailed) or events[-1].code != InternalError.code, events[-1]
    assert [codec.decode(codec.encode(event)) for event in events] == events
    await runtime.settled(ask.thread_id, ask.principal)


def is_earlier(event: Event, events: Iterable[Event]) -> bool:
    """An agent elsewhere may say the result of a call of an earlier run."""
    return isinstance(event, ToolCallReturned) and not any(
        isinstance(other, ToolCallStarted) and other.call_id == event.call_id for other in events
    )


def loop(model: Model) -> Agent:
    return Loop(model, [FunctionToolbox([make_tool(echo, ToolOptions(name)) for name in NAMES])], max_turns=2)


@asynccontextmanager
async def modelled(make: Callable[[str], Any], url: str) -> AsyncIterator[Agent]:
    async with make(url) as model:
        yield loop(model)


@asynccontextmanager
async def remote(url: str) -> AsyncIterator[Agent]:
    options = RemoteOptions(url=url, agent="demo_agent")
    async with EndpointAgent("demo_agent", options, Endpoint(options)) as agent:
        yield agent


def target(
    name: str,
    agent: Callable[[str], AbstractAsyncContextManager[Agent]],
    streams: Streams,
    *,
    media_type: str = SSE,
    frame: Callable[[bytes], bytes] = as_it_is,
    told: Mapping[str, Any] | None = None,
    night_cases: int = 80,
) -> Target:
    samples = tuple((200, media_type, [frame(event) for event in events]) for events in streams.values())
    return Target(
        f"stream-{name}",
        partial(make, streams, media_type, frame),
        partial(opened, agent, media_type, told or {}),
        samples[:3],
        night_cases,
    )


# Every provider and every kind of agent

OPENAI = recorded(
    [
        *sorted((RECORDINGS / "openai").glob("*.response.txt")),
        *sorted((GRAPHQL / "upstream-openai").glob("*.response.txt"))[:12],
    ]
)
RESPONSES: Streams = {
    "whole": [
        b'data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","output":[]}}\n\n',
        b'data: {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"Hm."}\n\n',
        b'data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":'
        b'[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gAAA"}}\n\n',
        b'data: {"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Hello"}\n\n',
        b'data: {"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c",'
        b'"name":"add","arguments":""}}\n\n',
        b'data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"{}"}\n\n',
        b'data: {"type":"response.completed","response":{"usage":{"input_tokens":11,"output_tokens":7,'
        b'"input_tokens_details":{"cached_tokens":3},"output_tokens_details":{"reasoning_tokens":2}}}}\n\n',
    ],
    "failed": [
        b'data: {"type":"response.output_text.delta","output_index":0,"delta":"Half"}\n\n',
        b'data: {"type":"response.failed","response":{"error":{"code":"server_error","message":"Broken."}}}\n\n',
    ],
}
ANTHROPIC = recorded(sorted((RECORDINGS / "anthropic").glob("*.response.txt")))
GOOGLE = recorded(sorted((RECORDINGS / "google").glob("*.response.txt")))
AGUI_STREAMS = recorded([GRAPHQL / "agui-agent-http" / "agui-agent.response.txt"]) | {
    "more": [
        b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n',
        b'data: {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"m","role":"user","content":"Hi"},{"id":"a","role":'
        b'"assistant","content":"","toolCalls":[{"id":"c","type":"function","function":{"name":"f",'
        b'"arguments":"{}"}}]},'
        b'{"id":"t","role":"tool","content":"done","toolCallId":"c"}]}\n\n',
        b'data: {"type":"TEXT_MESSAGE_CHUNK","messageId":"x","role":"assistant","delta":"Hel"}\n\n',
        b'data: {"type":"TOOL_CALL_CHUNK","toolCallId":"y","toolCallName":"showChart","delta":"{}"}\n\n',
        b'data: {"type":"REASONING_START","messageId":"z"}\n\n',
        b'data: {"type":"REASONING_MESSAGE_START","messageId":"z","role":"reasoning"}\n\n',
        b'data: {"type":"REASONING_MESSAGE_CONTENT","messageId":"z","delta":"Hm"}\n\n',
        b'data: {"type":"REASONING_MESSAGE_END","messageId":"z"}\n\n',
        b'data: {"type":"REASONING_END","messageId":"z"}\n\n',
        b'data: {"type":"ACTIVITY_SNAPSHOT","messageId":"q","activityType":"PLAN","content":{"a":1}}\n\n',
        b'data: {"type":"ACTIVITY_DELTA","messageId":"q","activityType":"PLAN","patch":[{"op":"add",'
        b'"path":"/b","value":'
        b"2}]}\n\n",
        b'data: {"type":"TOOL_CALL_RESULT","messageId":"u","toolCallId":"y","content":"seen","role":"tool"}\n\n',
        b'data: {"type":"STATE_DELTA","delta":[{"op":"add","path":"/items","value":[1]}]}\n\n',
        b'data: {"type":"CUSTOM","name":"on_interrupt","value":"sure?"}\n\n',
        b'data: {"type":"RAW","event":{"a":1},"source":"x"}\n\n',
        b'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt",'
        b'"interrupts":[{"id":"i",'
        b'"reason":"r","message":"sure?"}]}}\n\n',
    ],
    "failed": [
        b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n',
        b'data: {"type":"RUN_ERROR","message":"no","code":"X"}\n\n',
    ],
}
REMOTE = lines(
    path
    for folder in ("remote-endpoint-python-sdk-0.1.63", "remote-endpoint-fake")
    for path in sorted((GRAPHQL / folder).glob("*agent*.2.response.txt"))
)
REMOTE_INFO = {
    "actions": [],
    "agents": [{"name": "demo_agent", "description": "a graph", "type": "langgraph"}],
    "sdkVersion": "0.1.63",
}
NODE = {"langgraph_node": "chat"}
LANGGRAPH = {
    "answer": [
        b'event: metadata\ndata: {"run_id": "1", "attempt": 1}\n\n',
        *(
            b"event: messages\ndata: %b\n\n"
            % json.dumps([{"type": "AIMessageChunk", "id": "run-1", **more}, NODE]).encode()
            for more in (
                {"content": "Hel"},
                {"content": [{"type": "text", "text": "lo"}]},
                {"content": "", "tool_call_chunks": [{"id": "c1", "name": "look", "args": "", "index": 0}]},
                {"content": "", "tool_call_chunks": [{"id": None, "name": None, "args": "{}", "index": 0}]},
            )
        ),
        b'event: messages\ndata: [{"type": "tool", "tool_call_id": "c1", "name": "look", "content": "seen",'
        b' "id": "t1"}, '
        b'{"langgraph_node": "tools"}]\n\n',
        b'event: updates\ndata: {"chat": {"count": 1, "messages": [{"type": "ai", "content": "Hello",'
        b' "id": "run-1"}]}}\n\n',
        b'event: values\ndata: {"count": 1, "messages": [{"type": "human", "content": "Hi", "id": "h"}]}\n\n',
        b'event: custom\ndata: {"name": "x", "value": 1}\n\n',
        b'event: updates\ndata: {"__interrupt__": [{"value": "sure?", "id": "i"}]}\n\n',
    ],
    "failed": [b'event: error\ndata: {"error": "ValueError", "message": "no"}\n\n'],
}
SAID = (
    ["Hel", "lo, ", "wörld 👋"],
    ["<think>Hm", ".</think>", "Well: "],
    ['<tool_call>\n{"name": "search", ', '"arguments": {"q": 1}}\n</tool_call>\n'],
    ['<tool_call>\n{"name": "search", "arguments": {"q": "a"}}\n</tool_call>', '<tool_call>{"name": "draw"'],
)


def completion(name: str) -> Target:
    """A model behind its raw endpoint, whose template makes it call tools as Hermes does."""
    played: list[Played] = [PLAYERS[name]([*pieces], reason) for pieces in SAID for reason in ("stop", "length")]
    streams = {str(number): [undo(one.stream)] for number, one in enumerate(played)}
    events = {key: re.findall(rb"[^\n]*\n\n?", body) for key, (body,) in streams.items()}
    told = dict(played[0].told)
    if name == "llama_cpp":
        told["/props"] = {**PROPS, "chat_template": HERMES}
    return target(name, partial(completed, name), events, told=told)


@asynccontextmanager
async def completed(name: str, url: str) -> AsyncIterator[Agent]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer_config.json"
        path.write_text(json.dumps({"chat_template": HERMES}))
        more: Any = {"tokenizer": path} if name == "vllm" else {}
        async with Completion(build(name, url, **more)) as model:
            yield loop(model)


def undo(stream: bytes) -> bytes:
    """The body of a chunked one."""
    body, rest = b"", stream
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return body


KEYS = {"access_key_id": "a", "secret_access_key": "b"}


TARGETS = (
    target("openai", partial(modelled, lambda url: OpenAI("m", base_url=url)), OPENAI, night_cases=120),
    target("responses", partial(modelled, lambda url: OpenAI("m", base_url=url, api="responses")), RESPONSES),
    target("anthropic", partial(modelled, lambda url: Anthropic("m", base_url=url)), ANTHROPIC),
    target(
        "bedrock",
        partial(modelled, lambda url: Anthropic("m", platform="bedrock-runtime", region="r", base_url=url, aws=KEYS)),
        {name: [event for event in events if b"data: " in event] for name, events in ANTHROPIC.items()},
        media_type=eventstream.MEDIA_TYPE,
        frame=in_frame,
    ),
    target("google", partial(modelled, lambda url: Google("m", base_url=url)), GOOGLE),
    *(completion(name) for name in PLAYERS),
    target("agui", lambda url: AguiAgent(AGUIOptions(url=url)), AGUI_STREAMS, night_cases=120),
    target("copilotkit", remote, REMOTE, media_type="application/json", told={"/info": REMOTE_INFO}, night_cases=120),
    target(
        "langgraph",
        lambda url: LangGraphPlatform(url),
        LANGGRAPH,
        told={"/threads": {}, "/state": {"values": {}}},
        night_cases=200,
    ),
)
