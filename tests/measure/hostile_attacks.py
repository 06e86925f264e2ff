"""What one client with one ordinary key does to a server, for `tests.measure.hostile_client`, and the fake model.

    python -m tests.measure.hostile_attacks model
    python -m tests.measure.hostile_attacks NAME URL KEY

The first one prints its port. The second one stores what the attack needs, prints `ready`, attacks until its standard
input ends, and prints how many responses it got of each status. Both are processes of their own, so that what they do
does not delay the client that is measured.
"""

import asyncio
import json
import socket
import sys
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from tests.conditions import Paced

AT_ONCE = 8
"""Requests of a flood that are under way together."""
UNREAD = 64
"""Connections that read nothing. Each is closed after `HELD_S`, and another one opened."""
HELD_S = 4.0
PACE_S = 0.02
BODY_BYTES = 15 * 2**20  # a body may have 16 MB
MAX_CONTAINERS = 9_900  # and 10,000 objects and arrays
MAX_VALUES = 199_900  # and 200,000 values
MB = 1_000_000


class Attacker:
    """Sends raw requests, and counts the statuses of what comes back."""

    def __init__(self, url: str, key: str) -> None:
        self._host, self._port = urlsplit(url).hostname or "", urlsplit(url).port or 0
        self._key = key
        self.statuses: Counter[str] = Counter()

    def write(self, method: str, path: str, body: object = None, *, headers: str = "") -> bytes:
        content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "content-type: application/json\r\n" if content else ""
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {self._key}\r\nconnection: close\r\n"
        return f"{head}{kind}{headers}content-length: {len(content)}\r\n\r\n".encode() + content

    async def ask(self, request: bytes) -> bytes:
        """The body of the response; empty if the server closed the connection without one."""
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=2**24)
        sending = asyncio.create_task(self._send(writer, request))
        whole = bytearray()
        try:
            with suppress(ConnectionError):
                while piece := await reader.read(2**20):
                    whole += piece
            self._count(bytes(whole[:16]))
            return bytes(whole).partition(b"\r\n\r\n")[2]
        finally:
            sending.cancel()
            writer.transport.abort()

    async def _send(self, writer: asyncio.StreamWriter, request: bytes) -> None:
        with suppress(ConnectionError):
            writer.write(request)
            await writer.drain()

    async def ask_json(self, method: str, path: str, body: object = None) -> dict[str, object]:
        headers = {"x-api-key": self._key}
        async with (
            aiohttp.ClientSession(f"http://{self._host}:{self._port}") as client,
            client.request(method, path, json=body, headers=headers) as response,
        ):
            found: dict[str, object] = await response.json()
            return found

    async def flood(self, *requests: bytes, at_once: int = AT_ONCE) -> None:
        """The requests in turn, so many at once, for ever."""

        async def repeat(number: int) -> None:
            while True:
                with suppress(OSError, asyncio.IncompleteReadError):
                    await self.ask(requests[number % len(requests)])
                number += 1

        await asyncio.gather(*(repeat(number) for number in range(at_once)))

    async def hold(self, *requests: bytes, connections: int = UNREAD) -> None:
        """Requests whose responses are not read beyond their first line, for ever."""

        async def repeat(number: int) -> None:
            while True:
                with suppress(OSError):
                    await self._hold_one(requests[number % len(requests)])
                number += connections

        await asyncio.gather(*(repeat(number) for number in range(connections)))

    async def _hold_one(self, request: bytes) -> None:
        loop, connection = asyncio.get_running_loop(), make_socket()
        try:
            await loop.sock_connect(connection, (self._host, self._port))
            await loop.sock_sendall(connection, request)
            with suppress(TimeoutError):
                async with asyncio.timeout(HELD_S):
                    self._count(await loop.sock_recv(connection, 16))
                with suppress(TimeoutError):
                    async with asyncio.timeout(HELD_S):
                        await asyncio.Event().wait()  # nothing is read
        finally:
            connection.close()

    def _count(self, line: bytes) -> None:
        self.statuses[line[9:12].decode("latin-1") or "closed"] += 1


def make_socket() -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setblocking(False)
    return connection


def run_input(text: str, thread: str, *, messages: Sequence[object] | None = None) -> dict[str, object]:
    found = [{"id": str(uuid.uuid4()), "role": "user", "content": text}] if messages is None else list(messages)
    ids = {"threadId": thread, "runId": str(uuid.uuid4())}
    return {**ids, "messages": found, "tools": [], "context": [], "state": {}, "forwardedProps": {}}


def fill(one: Callable[[str], object], *, containers: int, size: int = BODY_BYTES) -> list[object]:
    """As many as a body may hold, with as much text as it has room for."""
    number = MAX_CONTAINERS // containers
    return [one("x" * (size // number - len(json.dumps(one(""))) - 2))] * number


async def store_thread(attacker: Attacker, megabytes: int = 8) -> str:
    thread = str(uuid.uuid4())
    path = "/copilotkit/agent/default/run"
    await attacker.ask(attacker.write("POST", path, run_input(f"[[big {megabytes}]]", thread)))
    return thread


async def store_response(attacker: Attacker, megabytes: int) -> dict[str, object]:
    response = await attacker.ask_json("POST", "/v1/responses", {"model": "default", "input": f"[[big {megabytes}]]"})
    if response.get("status") != "completed":
        raise RuntimeError(f"the response was not stored: {str(response)[:500]}")
    return response


async def read_runs(attacker: Attacker) -> Awaitable[None]:
    thread = await store_thread(attacker)
    request = run_input("", thread, messages=())
    return attacker.hold(attacker.write("POST", "/copilotkit/agent/default/connect", request))


async def send_messages(attacker: Attacker) -> Awaitable[None]:
    texts = fill(lambda text: {"id": "m0000", "role": "user", "content": text}, containers=1)
    messages = [{**one, "id": f"m{number}"} for number, one in enumerate(texts)]  # type: ignore[dict-item]  # JSON
    body = run_input("", "flooded", messages=messages)
    return attacker.flood(attacker.write("POST", "/copilotkit/agent/default/run", body))


async def overlap_fields(attacker: Attacker) -> Awaitable[None]:
    overlapping = "{" + " ".join("a:__typename" for _ in range(390)) + "}"
    fragments = "".join(f" fragment F{n} on Query{{availableAgents{{agents{{id name}}}}}}" for n in range(60))
    spread = "{" + " ".join(f"...F{n}" for n in range(60)) + "}" + fragments
    return attacker.flood(*(attacker.write("POST", "/copilotkit", {"query": one}) for one in (overlapping, spread)))


async def send_chats(attacker: Attacker) -> Awaitable[None]:
    messages = fill(lambda text: {"role": "user", "content": text}, containers=1)
    return attacker.flood(attacker.write("POST", "/v1/chat/completions", {"model": "default", "messages": messages}))


async def send_tools(attacker: Attacker) -> Awaitable[None]:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^((a+)+|(b|b)*)$"}}}

    def tool(text: str) -> dict[str, object]:
        return {"type": "function", "function": {"name": "NAME", "description": text, "parameters": schema}}

    named = [json.dumps(one).replace("NAME", f"t{number:x}") for number, one in enumerate(fill(tool, containers=5))]
    tools = [json.loads(one) for one in named]
    question = [{"role": "user", "content": "x"}]
    body = {"model": "default", "messages": question, "tools": tools}
    return attacker.flood(attacker.write("POST", "/v1/chat/completions", body))


async def send_texts(attacker: Attacker) -> Awaitable[None]:
    """As many values as a body may hold, and more, which is refused."""
    flood = []
    for number in (MAX_VALUES, BODY_BYTES // 5):
        schema = {"type": "object", "properties": {"a": {"enum": ["x"] * number}}}
        tool = {"type": "function", "function": {"name": "t", "parameters": schema}}
        body = {"model": "default", "messages": [{"role": "user", "content": "x"}], "tools": [tool]}
        flood.append(attacker.write("POST", "/v1/chat/completions", body))
    return attacker.flood(*flood)


async def leave_streams(attacker: Attacker) -> Awaitable[None]:
    question = [{"role": "user", "content": "[[paced]]"}]
    body = {"model": "default", "messages": question, "stream": True}
    return attacker.hold(attacker.write("POST", "/v1/chat/completions", body))


def write_messages_request(attacker: Attacker, *, headers: str = "", **more: object) -> bytes:
    question = [{"role": "user", "content": "x"}]
    body = {"model": "default", "max_tokens": 9, "messages": question, **more}
    return attacker.write("POST", "/anthropic/v1/messages", body, headers=headers)


async def send_blocks(attacker: Attacker) -> Awaitable[None]:
    """Text and images beside each other, and results within results."""
    texts = fill(lambda text: {"type": "text", "text": text}, containers=1)
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    results = {"type": "tool_result", "tool_use_id": "t", "content": texts[:-20]}
    nested = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [results]},
    ]
    flat = [{"role": "user", "content": texts[:-5]}]
    return attacker.flood(*(write_messages_request(attacker, messages=one) for one in (flat, nested)))


async def send_own_tools(attacker: Attacker) -> Awaitable[None]:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^((a+)+|(b|b)*)$"}}}
    tools = fill(lambda text: {"name": "NAME", "description": text, "input_schema": schema}, containers=4)
    named = [json.loads(json.dumps(one).replace("NAME", f"t{number:x}")) for number, one in enumerate(tools[:-5])]
    return attacker.flood(write_messages_request(attacker, tools=named))


async def forge_thoughts(attacker: Attacker) -> Awaitable[None]:
    thoughts = fill(lambda text: {"type": "thinking", "thinking": "I may.", "signature": text}, containers=1)
    reply = {"role": "assistant", "content": [*thoughts[:-10], {"type": "text", "text": "x"}]}
    question = {"role": "user", "content": "x"}
    return attacker.flood(write_messages_request(attacker, messages=[question, reply, question]))


async def rewrite_sessions(attacker: Attacker) -> Awaitable[None]:
    """A session whose stored conversation is replaced by each request."""
    headers = "x-claude-code-session-id: flooded\r\n"
    requests = []
    for word in ("a", "b"):
        messages = fill(lambda text, word=word: {"role": "user", "content": word + text}, containers=1)[:-5]  # type: ignore[misc]  # bound in the loop
        requests.append(write_messages_request(attacker, headers=headers, messages=messages))
    return attacker.flood(*requests)


async def continue_foreign_threads(attacker: Attacker) -> Awaitable[None]:
    """Replies and calls that never were, with 15 MB beside them."""
    messages = fill(lambda text: {"role": "user", "content": text}, containers=1)[:-5]
    thread = {"type": "continue", "previous_message_id": "msg_" + "0" * 32}
    use = {"type": "mcp_tool_use", "id": "mcptoolu_0", "name": "f", "server_name": "s", "input": {}}
    decision = {"type": "tool_result", "tool_use_id": "mcptoolu_0", "content": "approve"}
    paused = [*messages[:-5], {"role": "assistant", "content": [use]}, {"role": "user", "content": [decision]}]
    return attacker.flood(
        write_messages_request(attacker, messages=messages, thread=thread),
        write_messages_request(attacker, messages=paused),
    )


async def leave_messages(attacker: Attacker) -> Awaitable[None]:
    question = [{"role": "user", "content": "[[paced]]"}]
    return attacker.hold(write_messages_request(attacker, messages=question, stream=True))


async def refer_to_items(attacker: Attacker) -> Awaitable[None]:
    ids = []
    for _ in range(14):
        output = (await store_response(attacker, 1))["output"]
        ids.append(output[0]["id"])  # type: ignore[index]  # JSON
    referred: list[object] = [{"type": "item_reference", "id": id} for id in ids]
    question = {"role": "user", "content": "x"}
    body = {"model": "default", "store": False, "input": [*referred, question]}
    return attacker.flood(attacker.write("POST", "/v1/responses", body))


async def read_responses(attacker: Attacker) -> Awaitable[None]:
    id = (await store_response(attacker, 8))["id"]
    paths = (f"/v1/responses/{id}?stream=true", f"/v1/responses/{id}")
    return attacker.hold(*(attacker.write("GET", path) for path in paths))


async def read_conversations(attacker: Attacker) -> Awaitable[None]:
    id = (await attacker.ask_json("POST", "/v1/conversations", {}))["id"]
    item = {"type": "message", "role": "user", "content": "x" * MB}
    for _ in range(8):
        await attacker.ask_json("POST", f"/v1/conversations/{id}/items", {"items": [item] * 11})
    page = attacker.write("GET", f"/v1/conversations/{id}/items?limit=100")
    return attacker.hold(page, attacker.write("GET", f"/v1/conversations/{id}/items?limit=1"))


async def read_chats(attacker: Attacker) -> Awaitable[None]:
    thread = await store_thread(attacker)
    return attacker.hold(attacker.write("GET", f"/api/chat/{thread}"))


async def send_widgets(attacker: Attacker) -> Awaitable[None]:
    rows = json.dumps([{"a": number} for number in range(60)])
    items = fill(lambda text: {"content": rows + " " * (len(text) - 2 * len(rows))}, containers=1)
    context = {"uuid": str(uuid.uuid4()), "name": "w", "description": "", "data": {"items": items}}
    body = {"messages": [{"role": "human", "content": "x"}], "context": [context]}
    return attacker.flood(attacker.write("POST", "/openbb/v1/query/default", body))


async def call_tools(attacker: Attacker) -> Awaitable[None]:
    arguments = {"question": "x" * 4 * MB}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "own_say", "arguments": arguments}}
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = "accept: application/json, text/event-stream\r\n"
    return attacker.flood(*(attacker.write("POST", "/mcp", one, headers=accept) for one in (call, listing)))


async def follow_threads(attacker: Attacker) -> Awaitable[None]:
    threads = [await store_thread(attacker, 1), *(f"none-{number}" for number in range(63))]
    query = "&".join(f"thread={thread}" for thread in threads)
    return attacker.hold(attacker.write("GET", f"/operator/live?{query}"))


async def read_threads(attacker: Attacker) -> Awaitable[None]:
    thread = await store_thread(attacker)
    paths = (f"/operator/threads/{thread}", "/operator/threads?limit=100", "/operator/threads?q=word")
    return attacker.hold(*(attacker.write("GET", path) for path in paths))


async def ask_for_usage(attacker: Attacker) -> Awaitable[None]:
    return attacker.flood(attacker.write("GET", "/usage"), attacker.write("GET", "/usage/limits"), at_once=32)


async def send_votes(attacker: Attacker) -> Awaitable[None]:
    """On an answer of its own, with what may be stored, and with more."""
    id = (await store_response(attacker, 1))["id"]
    vote = {"id": id, "value": "down", "comment": "x" * 4_000, "tags": ["t" * 64] * 20}
    huge = ({**vote, "tags": ["x"] * (BODY_BYTES // 5)}, {**vote, "comment": "x" * BODY_BYTES})
    votes = [attacker.write("POST", "/v1/feedback", body) for body in (vote, {"id": id, "value": None}, *huge)]
    return attacker.flood(*votes, attacker.write("GET", f"/v1/feedback?id={id}"), at_once=32)


async def list_votes(attacker: Attacker) -> Awaitable[None]:
    await send_vote_of_each(attacker, 50)
    paths = ("/operator/feedback?limit=200", "/operator/feedback/counts?bucket=hour", "/operator/failures")
    return attacker.flood(*(attacker.write("GET", path) for path in paths), at_once=32)


async def send_vote_of_each(attacker: Attacker, count: int) -> None:
    for _ in range(count):
        response = await attacker.ask_json("POST", "/v1/responses", {"model": "default", "input": "x"})
        vote = {"id": response["id"], "value": "down", "comment": "x" * 4_000, "tags": ["t" * 64] * 20}
        await attacker.ask_json("POST", "/v1/feedback", vote)


async def store_numbers(attacker: Attacker, size: int) -> str:
    """The id of a run whose question is telephone numbers."""
    thread, numbers = str(uuid.uuid4()), "+49 30 1234567, é; " * (size // 19)
    await attacker.ask(attacker.write("POST", "/copilotkit/agent/default/run", run_input(numbers, thread)))
    page = await attacker.ask_json("GET", f"/operator/runs?thread={thread}")
    return str(page["runs"][0]["id"])  # type: ignore[index]  # JSON


async def pin_runs(attacker: Attacker) -> Awaitable[None]:
    """One that is nearly too large for a case, and one that is larger."""
    ids = [await store_numbers(attacker, size) for size in (1_900_000, 8 * MB)]
    bodies = {"dataset": "pinned", "wrong": "It must be shorter."}
    return attacker.flood(*(attacker.write("POST", f"/operator/runs/{id}/pin", bodies) for id in ids))


async def list_cases(attacker: Attacker) -> Awaitable[None]:
    """Of a dataset of two megabytes that another request changes now and then."""
    ids = [await store_numbers(attacker, size) for size in (1_900_000, 100)]
    body = {"dataset": "listed", "wrong": "It must be shorter."}
    large, small = (attacker.write("POST", f"/operator/runs/{id}/pin", body) for id in ids)
    await attacker.ask(large)
    return attacker.flood(*[attacker.write("GET", "/operator/evals")] * 31, small, at_once=32)


async def guess_keys(attacker: Attacker) -> Awaitable[None]:
    guess = Attacker(f"http://{attacker._host}:{attacker._port}", "rs_guess_" + "x" * 40)
    guess.statuses = attacker.statuses
    body = b'{"messages": [' + b" " * BODY_BYTES
    paths = ("/v1/chat/completions", "/copilotkit", "/mcp", "/sign-in/callback?code=x&state=y")
    return guess.flood(*(guess.write("POST", path, body) for path in paths), at_once=32)


async def leave_heads(attacker: Attacker) -> Awaitable[None]:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nx-a: " + b"a" * 30_000
    return attacker.hold(head, connections=500)


class Attack(NamedTuple):
    """`face` is what the other client uses meanwhile. The key of an author may pin runs and read those of others."""

    face: str
    about: str
    prepare: Callable[[Attacker], Awaitable[Awaitable[None]]]
    is_author: bool = False


ATTACKS = {
    "agui-readers": Attack("copilotkit", "64 clients that join a thread of 8 MB and read nothing", read_runs),
    "agui-messages": Attack("copilotkit", "eight runs at once of 9,900 messages, 15 MB", send_messages),
    "graphql": Attack("graphql", "eight queries at once of overlapping fields and 60 fragments", overlap_fields),
    "chat-messages": Attack("openai", "eight chats at once of 9,900 messages, 15 MB", send_chats),
    "chat-tools": Attack("openai", "eight chats at once of 1,980 tools with nested patterns, 15 MB", send_tools),
    "chat-texts": Attack("openai", "eight chats at once of 199,900 texts, or 3,100,000 in 15 MB", send_texts),
    "chat-streams": Attack("openai", "64 streams of 2,000 tokens a second, not read", leave_streams),
    "anthropic-blocks": Attack(
        "anthropic", "eight requests at once of 9,900 blocks, also in results, 15 MB", send_blocks
    ),
    "anthropic-tools": Attack(
        "anthropic", "eight requests at once of 2,470 tools with nested patterns, 15 MB", send_own_tools
    ),
    "anthropic-thoughts": Attack(
        "anthropic", "eight requests at once of 9,890 forged signatures, 15 MB", forge_thoughts
    ),
    "anthropic-sessions": Attack(
        "anthropic", "eight requests at once that replace a session of 15 MB", rewrite_sessions
    ),
    "anthropic-foreign": Attack(
        "anthropic", "eight requests at once for foreign threads, with 15 MB", continue_foreign_threads
    ),
    "anthropic-streams": Attack("anthropic", "64 streams of 2,000 tokens a second, not read", leave_messages),
    "response-references": Attack("responses", "1 kB that refers to 14 items of 1 MB, eight at once", refer_to_items),
    "response-readers": Attack("responses", "64 reads of a stored response of 8 MB, not read", read_responses),
    "conversation-readers": Attack("responses", "64 reads of a conversation of 88 MB, not read", read_conversations),
    "ai-sdk-readers": Attack("ai_sdk", "64 reads of a stored chat of 8 MB, not read", read_chats),
    "openbb-widgets": Attack("openbb", "eight queries at once with 9,900 tables, 15 MB", send_widgets),
    "mcp-calls": Attack("mcp", "eight calls at once with 4 MB of arguments, and lists", call_tools),
    "live": Attack("operator", "64 event streams of the console of 64 threads each, not read", follow_threads),
    "operator-readers": Attack("operator", "64 reads of a thread of 8 MB and of lists, not read", read_threads),
    "votes": Attack("feedback", "32 votes at once, also with 3,100,000 tags and comments of 15 MB", send_votes),
    "vote-lists": Attack("operator", "32 lists and counts of 50 votes of 5 kB at once, and of failures", list_votes),
    "pins": Attack(
        "operator",
        "an author: eight pins at once of runs of 1.9 and 8 MB of telephone numbers",
        pin_runs,
        is_author=True,
    ),
    "cases": Attack(
        "operator", "an author: 32 lists at once of a dataset of 2 MB that changes", list_cases, is_author=True
    ),
    "usage": Attack("usage", "32 reports at once, again and again", ask_for_usage),
    "wrong-keys": Attack("openai", "without a key: 32 requests at once with wrong keys and 15 MB each", guess_keys),
    "half-heads": Attack("openai", "without a key: 500 connections with half a head of 30 kB", leave_heads),
}


async def attack(name: str, url: str, key: str) -> None:
    attacker = Attacker(url, key)
    work = await ATTACKS[name].prepare(attacker)
    attacker.statuses.clear()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    going = asyncio.ensure_future(work)
    await asyncio.to_thread(sys.stdin.read)
    going.cancel()
    with suppress(asyncio.CancelledError):
        await going
    sys.stdout.write(json.dumps(attacker.statuses) + "\n")


async def answer(request: web.Request) -> web.StreamResponse:
    """Says `ok`, or as many megabytes of words as the question names, or words for a minute, 50 pieces a second."""
    text = (await request.read())[-4096:].decode("utf-8", "replace")
    named = text.rpartition("[[big ")[2].partition("]]")[0] if "[[big " in text else ""
    is_paced = "[[paced]]" in text
    pieces = ["ok"]
    if is_paced:
        pieces = ["word " * 40] * 3_000
    elif named.isdecimal():
        pieces = ["word " * 12_000] * (int(named) * MB // 60_000)
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    with suppress(ConnectionError):
        async for piece in Paced(pieces, PACE_S if is_paced else 0):  # the rate of a fast model
            await response.write(write_chunk({"content": piece}))
        await response.write(write_chunk({}, "stop") + b"data: [DONE]\n\n")
    return response


def write_chunk(delta: object, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n".encode()


async def serve_model() -> None:
    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        await web.SockSite(runner, listener).start()
        await asyncio.to_thread(sys.stdin.read)
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve_model() if sys.argv[1:] == ["model"] else attack(*sys.argv[1:]))
