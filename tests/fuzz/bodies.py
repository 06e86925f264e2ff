"""Requests to every face of a real server, recorded and spoilt: each gets an answer below 500, or one that says in the
face's own form what another server did wrong; and `/health` answers afterwards."""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from random import Random
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict

from rightseat import app, config
from rightseat.core.model import Model, Prompt
from rightseat.testing import ScriptedModel, ScriptedResponse, calls, says
from rightseat.toolboxes.functions import tool
from tests.access.examples import COPILOTKIT, IDS, placed, run_input
from tests.conftest import serving
from tests.faces.copilotkit import recorded
from tests.fuzz.engine import Check, Target
from tests.fuzz.mutation import SURROGATES, TEXTS, mutate_bytes, mutate_json, mutate_text, write_json
from tests.models.completion.backends.playing import answer
from tests.models.recorded import RECORDINGS
from tests.tcp import Visit, playing

READ_S = 10.0  # for a whole answer; one that is still open then is left
STALL_S = 0.25  # of CPU time: the longest that one request may keep the event loop from others
HEALTH_EVERY = 50  # cases
UPSTREAM_FAILED = (502, 503)

CONFIGURATION = """
models:
  default: {{type: tests.fuzz.bodies}}
  vectors: {{type: openai, model: m, base_url: "{upstream}"}}
agents:
  default: {{tools: ["tests.fuzz.bodies:add", "tests.fuzz.bodies:delete"]}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: ".", host: 127.0.0.1}}
faces:
  - {{type: copilotkit, agent: default, transcription: {{base_url: "{upstream}"}}}}
  - {{type: openai, transcription: {{base_url: "{upstream}"}}}}
  - {{type: anthropic, approval_wait: 0}}
  - {{type: openbb, path: /openbb, agent: default}}
  - {{type: mcp, agents: [default]}}
  - {{type: ai_sdk}}
"""

# The server, and the model behind it


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options) -> Model:
    """A model that answers in words, or calls a tool of ours or of the client's, as the question has it."""

    def reply(prompt: Prompt) -> ScriptedResponse:
        if not prompt.messages or prompt.messages[-1].role != "user" or not prompt.tools:
            return says("Hel", "lo ", "wörld")
        chosen = zlib.crc32(prompt.messages[-1].text.encode("utf-8", "replace"))
        if chosen % 3 == 0:
            return says("Hello")
        offered = prompt.tools[chosen % len(prompt.tools)]
        return calls(offered.name, '{"a": 1, "b": 2, "path": "x", "sql": "SELECT 1"}', id=f"call_{chosen}")

    return ScriptedModel(reply)


@tool
async def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool(approval="Delete the file?")
async def delete(path: str) -> str:
    """Deletes a file."""
    return f"deleted {path}"


async def upstream(visit: Visit) -> None:
    """Makes vectors, and hears."""
    while True:
        request = await visit.request()
        if request.line.split()[1] == "/embeddings":
            texts = request.json["input"]
            count = len(texts) if isinstance(texts, list) else 1
            data = [{"index": number, "embedding": [0.5]} for number in range(count)]
            await visit.send(answer(200, {"data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}))
        else:
            await visit.send(answer(200, {"text": "Good morning."}))


@asynccontextmanager
async def opened() -> AsyncIterator[Check]:
    async with playing(upstream) as behind:
        served = app.build(config.parse(CONFIGURATION.format(upstream=behind.url), environ={}))
        async with serving(served) as url:
            count = 0

            async def check(case: Any) -> None:
                nonlocal count
                count += 1
                await ask(url, *case)
                if count % HEALTH_EVERY == 0:
                    assert (await ask(url, "GET", "/health", {}, b""))[0] == 200

            yield check
            assert (await ask(url, "GET", "/health", {}, b""))[0] == 200


async def ask(
    url: str, method: str, path: str, headers: dict[str, str], body: bytes, read_s: float = READ_S
) -> tuple[int, bytes]:
    """The status and the whole answer, of which the properties are checked."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=2**24)
    fixed = {"host": "127.0.0.1", "connection": "close", "content-length": str(len(body))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in (fixed | headers).items())]
    said = b""
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body)
        async with asyncio.timeout(read_s):
            while piece := await reader.read(2**16):
                said += piece
    except (TimeoutError, ConnectionError):
        pass  # a stream that stays open, or a request that was refused before it was read
    finally:
        writer.close()
    head, _, rest = said.partition(b"\r\n\r\n")
    status = int(head.split()[1]) if head.startswith(b"HTTP/1.1 ") else 0
    assert status, f"no answer: {said[:200]!r}"
    assert status < 500 or status in UPSTREAM_FAILED, f"{status}: {rest[:500]!r}"
    if b"application/json" in head.lower() and b"chunked" not in head.lower() and rest:
        json.loads(rest)
    assert b"internal_error" not in rest, rest[:2_000]
    return status, rest


# What clients send

JSON = {"content-type": "application/json"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WEATHER = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"a": {}}}}
CHATS: tuple[dict[str, Any], ...] = (
    {
        "model": "default",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": WEATHER}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "temperature": 0.5,
        "stop": ["x"],
        "max_tokens": 50,
        "user": "u",
        "metadata": {"a": "b"},
        "logprobs": True,
        "top_logprobs": 2,
    },
    {
        "model": "default",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Hi"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "seen"},
            {"role": "user", "content": "And?"},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "x", "schema": {"type": "object"}, "strict": True},
        },
    },
)
EMBEDDING = {"model": "vectors", "input": ["a", "b"], "encoding_format": "base64", "dimensions": 2}
META = {"io.modelcontextprotocol/protocolVersion": "2026-06-30", "io.modelcontextprotocol/clientCapabilities": {}}
RPC: tuple[Any, ...] = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}},
    {"jsonrpc": "2.0", "id": "2", "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}},
    {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "tools/call",
        "params": {"name": "delete", "arguments": {"path": "x"}, "_meta": META},
    },
    {"jsonrpc": "2.0", "id": 4, "method": "ping"},
    [{"jsonrpc": "2.0", "id": 5, "method": "ping"}, {"jsonrpc": "2.0", "id": 6, "result": {}}],
)
RPC_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18", **JSON}
FORM = (
    b'--b\r\ncontent-disposition: form-data; name="file"; filename="hello.mp3"\r\ncontent-type: audio/mpeg\r\n\r\n'
    b'ID3-sound\r\n--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--b\r\n'
    b'content-disposition: form-data; name="response_format"\r\n\r\njson\r\n--b--\r\n'
)
RUNS: tuple[dict[str, Any], ...] = (
    run_input("t-1"),
    run_input(
        "t-2",
        state={"n": 1},
        tools=[{"name": "showChart", "description": "Draws.", "parameters": {"type": "object"}}],
        context=[{"description": "page", "value": "home"}],
        resume=[{"interruptId": "i", "status": "resolved", "payload": {"approved": True}}],
        messages=[
            {
                "id": "1",
                "role": "user",
                "content": [
                    {"type": "text", "text": "Hi"},
                    {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}},
                ],
            },
            {
                "id": "2",
                "role": "assistant",
                "content": "",
                "toolCalls": [{"id": "c", "type": "function", "function": {"name": "showChart", "arguments": "{}"}}],
            },
            {"id": "3", "role": "tool", "toolCallId": "c", "content": "done"},
            {"id": "4", "role": "activity", "activityType": "PLAN", "content": {"a": 1}},
            {"id": "5", "role": "user", "content": "Go on"},
        ],
    ),
)

Sent = tuple[str, str, dict[str, str], Any]
"""Method, path, headers, and a body: a JSON value or bytes."""


@cache
def graphql() -> tuple[Sent, ...]:
    bodies: list[Any] = []
    for path in sorted(recorded.FOLDER.glob("*.request.txt")):
        head, _, body = path.read_bytes().partition(b"\r\n\r\n")
        if head.startswith(b"POST") and body.startswith(b"{"):
            bodies.append(json.loads(body)) if b"invalid-json" not in path.name.encode() else None
    return tuple(("POST", "/copilotkit", {"accept": recorded.ACCEPT, **JSON}, body) for body in bodies)


@cache
def agui() -> tuple[Sent, ...]:
    found: list[Sent] = []
    for run in RUNS:
        found += [("POST", f"/copilotkit/{path}", JSON, run) for path in ("agent/default/run", "agui/default")]
        found.append(
            ("POST", "/copilotkit", JSON, {"method": "agent/run", "params": {"agentId": "default"}, "body": run})
        )
    for name, example in COPILOTKIT.items():
        method, _, path = name.partition(" ")
        if example.body is not None and path and example.path and method != "GET":
            found.append((method, f"/copilotkit/{placed(example).path}", JSON, example.body))
        if path and example.path:
            params = {"path": f"/{placed(example).path}", "httpMethod": method, **IDS}
            envelope = {"method": "resource/request", "params": params, "body": example.body}
            found.append(("POST", "/copilotkit", JSON, envelope))
    return tuple(one for one in found if not one[1].endswith("/stream"))


@cache
def openai() -> tuple[Sent, ...]:
    form = {"content-type": "multipart/form-data; boundary=b"}
    return (
        *(("POST", "/v1/chat/completions", JSON, chat) for chat in CHATS * 2),
        ("POST", "/v1/embeddings", JSON, EMBEDDING),
        ("POST", "/v1/audio/transcriptions", form, FORM),
    )


@cache
def anthropic() -> tuple[Sent, ...]:
    """Every kind of block, kept threads, sessions and calls that wait."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    document = {"type": "document", "title": "a", "source": {"type": "text", "media_type": "text/plain", "data": "b"}}
    found = {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "c"}]}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "d"}, image]}
    use = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "delete", "server_name": "s", "input": {}}
    called = [
        {"type": "thinking", "thinking": "I see.", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "tool_use", "id": "t", "name": "showChart", "input": {"a": 1}},
    ]
    body = {
        "model": "default",
        "max_tokens": 50,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}, image, document, found]},
            {"role": "assistant", "content": called},
            {"role": "user", "content": [result, {"type": "text", "text": "Go on"}]},
            {"role": "system", "content": "Now."},
            {"role": "user", "content": "And?"},
        ],
        "tools": [{"name": "showChart", "description": "x", "input_schema": {"type": "object", "properties": {}}}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "stop_sequences": ["lo"],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
        "metadata": {"user_id": '{"session_id": "s"}'},
    }
    question = {"model": "default", "max_tokens": 50, "messages": [{"role": "user", "content": "Hi"}]}
    kept = question | {"thread": {"type": "continue", "previous_message_id": "msg_" + "0" * 32}}
    decision = {"type": "tool_result", "tool_use_id": "mcptoolu_1", "content": "approve"}
    said = [*question["messages"], {"role": "assistant", "content": [use]}, {"role": "user", "content": [decision]}]  # type: ignore[misc]  # JSON
    bodies: list[Any] = [body, body | {"stream": True}, question | {"thread": {"type": "create"}}, kept]
    bodies += [question | {"messages": said}, question | {"messages": said[:2]}]
    beta = JSON | {"anthropic-beta": "mcp-client-2025-11-20", "x-claude-code-session-id": "s"}
    paths = ("/anthropic/v1/messages", "/anthropic/v1/messages?beta=true", "/anthropic/v1/messages/count_tokens")
    return tuple(("POST", path, beta, one) for path in paths for one in bodies)


@cache
def responses() -> tuple[Sent, ...]:
    """Stored and not, with every kind of item, and conversations."""
    lookup = {"type": "function", "name": "showChart", "parameters": {"type": "object", "properties": {}}}
    tools = [lookup, {"type": "namespace", "name": "n", "tools": [lookup | {"name": "m"}]}, {"type": "web_search"}]
    items = [
        {"role": "developer", "content": "Be brief."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Hi"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "low"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
            ],
        },
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "function_call", "call_id": "c", "name": "showChart", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "done"}]},
        {"type": "mcp_call", "id": "mcp_1", "name": "add", "arguments": "{}", "server_label": "s", "output": "3"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
        {"role": "user", "content": "Go on"},
    ]
    whole = {
        "model": "default",
        "input": items,
        "instructions": "Be nice.",
        "tools": tools,
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "m"}]},
        "text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object"}, "strict": False}},
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
        "metadata": {"a": "b"},
        "max_output_tokens": 100,
        "temperature": 0.5,
    }
    approval = {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{'0' * 32}_0", "approve": True}
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": "AAAA"}
    missing = f"resp_{'0' * 32}"
    return (
        ("POST", "/v1/responses", JSON, whole),
        ("POST", "/v1/responses", JSON, whole | {"stream": True}),
        ("POST", "/v1/responses", JSON, whole | {"stream": True, "store": False}),
        ("POST", "/v1/responses", JSON, {"model": "default", "input": "delete it", "stream": True}),
        ("POST", "/v1/responses", JSON, {"model": "default", "input": [approval], "previous_response_id": missing}),
        ("POST", "/v1/responses", JSON, {"model": "default", "input": [sealed, {"type": "item_reference", "id": "x"}]}),
        ("POST", "/v1/responses", JSON, {"model": "default", "input": "Hi", "conversation": {"id": "conv_1"}}),
        ("POST", "/v1/conversations", JSON, {"items": items, "metadata": {"a": "b"}}),
        ("POST", f"/v1/conversations/conv_{'0' * 32}/items", JSON, {"items": items}),
    )


@cache
def openbb() -> tuple[Sent, ...]:
    bodies = [json.loads(path.read_bytes()) for path in sorted((RECORDINGS / "openbb").glob("*.request.json"))]
    queries: list[Sent] = [("POST", "/openbb/v1/query", JSON, body) for body in bodies]
    return (*queries, ("POST", "/openbb/v1/feedback", JSON, {"vote": "up", "messages": [], "trace_id": "x"}))


@cache
def mcp() -> tuple[Sent, ...]:
    return tuple(("POST", "/mcp", RPC_HEADERS, body) for body in RPC)


@cache
def ai_sdk() -> tuple[Sent, ...]:
    """Each is sent many times to one chat, so that the stored thread and the client's list differ."""
    image = {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": "data:image/png;base64,aGk="}
    first = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hi"}, image], "metadata": {"a": 1}}
    second = {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "And then?"}]}
    approval = {"id": "interrupt-1", "approved": True, "reason": "yes"}
    call = {"type": "tool-delete", "toolCallId": "call_1", "input": {"path": "x"}, "state": "output-available"}
    parts = [{"type": "step-start"}, {"type": "text", "text": "Yes"}, {**call, "output": {"ok": True}}]
    parts.append({**call, "state": "approval-responded", "approval": approval})
    reply = {"id": "a1", "role": "assistant", "parts": parts}
    tools = {"paint": {"description": "Paint it.", "parameters": {"type": "object"}}}
    bodies: list[Any] = [
        {"id": "c1", "trigger": "submit-message", "messages": [first], "tools": tools, "system": "Be brief."},
        {"id": "c1", "trigger": "regenerate-message", "messages": [first], "messageId": "a1"},
        {"id": "c1", "messages": [first, reply, second], "tools": tools, "metadata": {"b": [1]}},
        {"id": "c1", "messages": [first, reply], "messageId": "a1", "answers": [{"id": "interrupt-1", "payload": 1}]},
        {"id": "c2", "message": second},
    ]
    below: list[Sent] = [("GET", "/api/chat/c1/stream", JSON, b""), ("GET", "/api/chat/c1", JSON, b"")]
    return (*(("POST", "/api/chat", JSON, body) for body in bodies), ("POST", "/api/chat/c1/stop", JSON, {}), *below)


TYPES = (
    *("text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data", "application/json; charset=utf-16"),
    *("application/octet-stream", "multipart/form-data; boundary=", "APPLICATION/JSON", "text/event-stream", "*/*;q=x"),
)
NAMES = ("accept", "mcp-session-id", "mcp-protocol-version", "last-event-id", "x-request-id", "origin", "traceparent")


def make(requests: Callable[[], tuple[Sent, ...]], random: Random) -> Any:
    method, path, headers, body = random.choice(requests())
    headers = dict(headers)
    if isinstance(body, bytes):
        written = mutate_bytes(random, body)
    else:
        body = mutate_json(random, body, most=random.choice((1, 1, 2, 5))) if random.random() < 0.85 else body
        written = write_json(random, body)
        if random.random() < 0.2:
            written = mutate_bytes(random, written)
    if random.random() < 0.08:
        headers["content-type"] = random.choice(TYPES)
    if random.random() < 0.08:
        headers[random.choice(NAMES)] = clean(random.choice(TEXTS))
    if random.random() < 0.05:
        path += "/" + quote(random.choice((*TEXTS, *SURROGATES))[:200], errors="replace")
    if random.random() < 0.03:
        path = quote(mutate_text(random, path), safe="/", errors="replace")[:2_000] or "/"
        path = path if path.startswith("/") else f"/{path}"
    if random.random() < 0.02:
        method = random.choice(("PUT", "PATCH", "DELETE", "GET", "HEAD", "QUERY"))
    return method, path, headers, written


def clean(text: str) -> str:
    """What may stand in a header."""
    return "".join(letter for letter in text if " " <= letter <= "~")[:2_000]


def target(name: str, requests: Callable[[], tuple[Sent, ...]], night_cases: int) -> Target:
    written = [
        (method, path, headers, body if isinstance(body, bytes) else json.dumps(body).encode())
        for method, path, headers, body in requests()
    ]
    return Target(f"body-{name}", partial(make, requests), opened, tuple(written[:40]), night_cases, STALL_S)


TARGETS = (
    target("graphql", graphql, 80),
    target("agui", agui, 200),
    target("openai", openai, 200),
    target("responses", responses, 200),
    target("anthropic", anthropic, 200),
    target("openbb", openbb, 150),
    target("mcp", mcp, 150),
    target("ai-sdk", ai_sdk, 200),
)
