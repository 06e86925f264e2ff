"""An OpenAI-compatible chat server whose responses a suite scripts: `fake-openai.mjs` in Python.

The suite gives it a plan, which turns the body of a request into steps:

    ("text", words), ("think", words)          word after word, 10 ms apart
    ("calls", [(name, arguments)])             calls in pieces; ("whole", …) sends each in one chunk
    ("hold", key)                              tick0 tick1 …, one in 50 ms, until `key` is released, at least ten
    ("silence", key)                           nothing until `key` is released
    ("pause", seconds), ("break", error), ("cut", None)
"""

import json
import re
import select
import socket
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOLD_S = 60.0
TICKS = 10
Json = dict[str, Any]
Step = tuple[str, Any]


@dataclass
class Reply:
    """Steps, or a status with an error. `key` is what the request is found by."""

    key: str | None
    steps: Sequence[Step] = ()
    finish: str = "stop"
    status: int = 200
    error: Json = field(default_factory=dict)


@dataclass
class ModelRequest:
    """A request that came here. `left` is when the caller closed the connection before the end."""

    key: str | None
    body: Json
    usage: Json
    since: float = field(default_factory=time.monotonic)
    left: float | None = None
    done: bool = False
    chunks: int = 0


Plan = Callable[[Json], Reply]
CountUsage = Callable[[Json, Reply], Json]


class CallerLeft(Exception):
    pass


class Gate:
    """Opens once; a wait for it ends as well when a connection closes. Its socket can be read as soon as it is open."""

    def __init__(self) -> None:
        self.socket, self._other = socket.socketpair()

    def open(self) -> None:
        self._other.close()

    def close(self) -> None:
        self._other.close()
        self.socket.close()


class ScriptedOpenAI(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, plan: Plan, count_usage: CountUsage, port: int = 0):
        super().__init__(("127.0.0.1", port), Handler)
        self.plan, self.count_usage = plan, count_usage
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.log: list[ModelRequest] = []
        self._gates: dict[str | None, Gate] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers that leave are expected."""

    def gate(self, key: str | None) -> Gate:
        with self._lock:
            return self._gates.setdefault(key, Gate())

    def release(self, key: str) -> None:
        """Lets the steps `hold` and `silence` of this key end."""
        self.gate(key).open()

    def requests(self, key: str) -> list[ModelRequest]:
        """Every request whose plan has this key, oldest first."""
        return [request for request in self.log if request.key == key]

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        with self._lock:
            for gate in self._gates.values():
                gate.close()


class Handler(BaseHTTPRequestHandler):
    server: ScriptedOpenAI
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def log_message(self, format: str, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if not self.path.startswith("/v1/models"):
            return self._refuse(404, f"Not found: {self.path}")
        model = {"id": "fake-model", "object": "model", "created": 1700000000, "owned_by": "fake"}
        self._send_json(200, {"object": "list", "data": [model]})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("authorization") != "Bearer sk-fake":
            return self._refuse(401, "The fake wants the key sk-fake.", "invalid_api_key")
        if self.path.split("?")[0] != "/v1/chat/completions":
            return self._refuse(404, f"Not found: {self.path}")
        body = json.loads(raw)
        reply = self.server.plan(body)
        request = ModelRequest(reply.key, body, self.server.count_usage(body, reply))
        self.server.log.append(request)
        if reply.status != 200:
            request.done = True
            return self._send_json(reply.status, {"error": reply.error})
        try:
            if body.get("stream"):
                self._stream(reply, request)
            else:
                self._respond(reply, request)
            request.done = True
        except (CallerLeft, OSError):
            request.left = time.monotonic()
            self.close_connection = True

    def _refuse(self, status: int, message: str, code: str | None = None) -> None:
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        self._send_json(status, {"error": error})

    def _send_json(self, status: int, value: Json) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _wait(self, seconds: float = 0.0, gate: Gate | None = None) -> bool:
        """Whether the gate is open, at the latest after so many seconds. Raises `CallerLeft`."""
        watched = [self.connection, *([gate.socket] if gate else [])]
        end = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select(watched, [], [], max(0.0, end - time.monotonic()))
            if self.connection in ready:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    raise CallerLeft
                watched.remove(self.connection)  # the caller's next request, which waits
            is_open = gate is not None and gate.socket in ready
            if is_open or time.monotonic() >= end:
                return is_open

    def _stream(self, reply: Reply, request: ModelRequest) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        stream = ChunkStream(self, request)
        stream.send_delta({"role": "assistant", "content": ""})
        finish = reply.finish
        for kind, value in reply.steps:
            match kind:
                case "text" | "think":
                    for word in re.findall(r"\S+\s*", value):
                        stream.send_delta({"content" if kind == "text" else "reasoning_content": word})
                        self._wait(0.01)
                case "hold":
                    self._stream_ticks(stream, self.server.gate(value))
                case "whole" | "calls":
                    finish = "tool_calls"
                    self._stream_calls(stream, value, is_whole=kind == "whole")
                case "break":
                    stream.send({"error": value})
                    return stream.end()
                case _:
                    self._do(kind, value)
        stream.send_delta({}, finish)
        if (request.body.get("stream_options") or {}).get("include_usage"):
            stream.send({**stream.base, "choices": [], "usage": request.usage})
        stream.write(b"data: [DONE]\n\n")
        stream.end()

    def _stream_ticks(self, stream: "ChunkStream", gate: Gate) -> None:
        end, count = time.monotonic() + HOLD_S, 0
        is_open = False
        while time.monotonic() < end and not (is_open and count >= TICKS):
            stream.send_delta({"content": f"tick{count} "})
            count += 1
            if is_open:
                self._wait(0.003)
            else:
                is_open = self._wait(0.05, gate)

    def _stream_calls(self, stream: "ChunkStream", calls: Sequence[tuple[str, Json]], *, is_whole: bool) -> None:
        mark = uuid.uuid4().hex[:8]
        for index, (name, arguments) in enumerate(calls):
            text = json.dumps(arguments, ensure_ascii=False)
            call = {"index": index, "id": f"call_{mark}_{index}", "type": "function"}
            first = text if is_whole else ""
            stream.send_delta({"tool_calls": [{**call, "function": {"name": name, "arguments": first}}]})
            size = max(1, -(-len(text) // 4))
            for start in () if is_whole else range(0, len(text), size):
                piece = {"index": index, "function": {"arguments": text[start : start + size]}}
                stream.send_delta({"tool_calls": [piece]})
                self._wait(0.005)

    def _do(self, kind: str, value: Any) -> None:
        """A step that sends nothing."""
        match kind:
            case "pause":
                self._wait(value)
            case "silence":
                self._wait(HOLD_S, self.server.gate(value))
            case "cut":
                self.connection.shutdown(socket.SHUT_RDWR)
                raise CallerLeft
            case _:
                raise ValueError(f"no such step: {kind}")

    def _respond(self, reply: Reply, request: ModelRequest) -> None:
        message: Json = {"role": "assistant", "content": None}
        for kind, value in reply.steps:
            match kind:
                case "text":
                    message["content"] = (message["content"] or "") + value
                case "think":
                    message["reasoning_content"] = message.get("reasoning_content", "") + value
                case "whole" | "calls":
                    message["tool_calls"] = [make_call(name, arguments) for name, arguments in value]
                case "hold":
                    self._wait(HOLD_S, self.server.gate(value))
                    message["content"] = (message["content"] or "") + "".join(f"tick{n} " for n in range(TICKS))
                case "break":
                    return self._send_json(500, {"error": value})
                case _:
                    self._do(kind, value)
        self._wait()
        finish = "tool_calls" if "tool_calls" in message else reply.finish
        head = {"id": "chatcmpl-whole", "object": "chat.completion", "created": 1700000000}
        choice = {"index": 0, "finish_reason": finish, "message": message}
        self._send_json(200, {**head, "model": request.body.get("model"), "usage": request.usage, "choices": [choice]})


class ChunkStream:
    """The chunks of one response."""

    def __init__(self, handler: Handler, request: ModelRequest) -> None:
        self._handler, self._request = handler, request
        self.base = {
            "id": "chatcmpl-" + uuid.uuid4().hex[:12],
            "object": "chat.completion.chunk",
            "created": 1700000000,
            "model": request.body.get("model"),
        }

    def write(self, data: bytes) -> None:
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def send(self, value: Json) -> None:
        self.write(b"data: " + json.dumps(value).encode() + b"\n\n")

    def send_delta(self, value: Json, finish: str | None = None) -> None:
        self.send({**self.base, "choices": [{"index": 0, "delta": value, "finish_reason": finish}]})
        self._request.chunks += 1

    def end(self) -> None:
        self.write(b"")


def make_call(name: str, arguments: Json) -> Json:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"id": f"call_{uuid.uuid4().hex[:8]}", "type": "function", "function": function}


# What a plan reads


def list_parts(message: Json) -> list[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content or ""}]


def read_text(message: Json) -> str:
    return " ".join(part.get("text") or "" for part in list_parts(message)).strip()


def find_key(text: str) -> str | None:
    """The last [KEY] of a text."""
    return found[-1] if (found := re.findall(r"\[([\w-]+)\]", text)) else None


def refuse(key: str | None, status: int, message: str, code: str | None, kind: str = "invalid_request_error") -> Reply:
    return Reply(key, status=status, error={"message": message, "type": kind, "param": None, "code": code})


def refuse_unanswered(key: str | None, messages: Sequence[Json]) -> Reply | None:
    """As the real API: tool messages must answer an assistant's calls before anything else comes."""
    if missing := find_unanswered(messages):
        rule = "An assistant message with 'tool_calls' must be followed by tool messages for each 'tool_call_id'."
        return refuse(key, 400, f"{rule} Missing: {', '.join(missing)}", None)
    return None


def find_unanswered(messages: Sequence[Json]) -> list[str]:
    waiting: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                return [f"{message.get('tool_call_id')} (an answer without a call)"]
            waiting.remove(message["tool_call_id"])
        elif waiting:
            return waiting
        elif message.get("role") == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls") or []]
    return waiting
