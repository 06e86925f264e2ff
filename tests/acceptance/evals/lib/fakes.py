"""The fakes: a model that does what its question tells it to and keeps a ledger, and tool servers that count their calls."""

import asyncio
import json
import logging
import threading
from collections import Counter
from dataclasses import dataclass, field

from aiohttp import web

from tests.acceptance._lib.processes import free_port

logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # callers are killed here; that is no news
MARK = "[evals "


def tell(text: str = "", **told: object) -> str:
    """A question with a directive for the model. `calls`: a list of rounds, each a list of `[tool, arguments]` that the model
    calls before it answers; `say`: its answer. Both may be given for each model: `{"a": …, "b": …}`. `in`, `out`: tokens to
    report (a `~` in `say` is left out: the question does not have the word). `ms`: how long an answer takes. `status`: refuses. `flip`: passes through these answers, one a request."""
    return f"{text} [evals {json.dumps(told, separators=(',', ':'))}]".strip()


@dataclass
class Request:
    model: str
    body: dict
    told: dict
    state: str = "open"  # open, done, cut, refused

    @property
    def texts(self) -> str:
        return json.dumps(self.body["messages"], ensure_ascii=False)


class Fakes:
    """A thread with one event loop: the model at `/v1`, the shop at `/shop`, an MCP server at `/mcp`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.counts: Counter[str] = Counter()
        self.received: list[tuple[str, dict]] = []
        self.open = self.most = 0
        self.verdicts: list[object] = []
        self._flips: Counter[str] = Counter()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self._ready.wait(10)

    def forget(self) -> None:
        self.requests, self.counts, self.received, self.open, self.most, self.verdicts = [], Counter(), [], 0, 0, []
        self._flips = Counter()

    def of(self, model: str) -> list[Request]:
        return [request for request in self.requests if request.model == model]

    def tokens(self) -> tuple[int, int]:
        """What the provider would bill: answers that were begun, as well."""
        billed = [request for request in self.requests if request.state != "refused"]
        return sum(call.told.get("in", 100) for call in billed), sum(call.told.get("out", 20) for call in billed)

    def cost(self) -> float:
        """At 1.0 and 2.0 for a million tokens times a thousand: see the prices in `project.py`."""
        sent, received = self.tokens()
        return (sent * 1000 + received * 2000) / 1e6

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._loop.run_forever()

    async def _start(self) -> None:
        app = web.Application(client_max_size=1 << 26)
        app.add_routes([
            web.post("/v1/chat/completions", self._complete),
            web.get("/v1/models", self._models),
            web.post("/shop/{tool}", self._shop),
            web.get("/shop/{tool}", self._shop),
            web.post("/mcp", self._mcp),
            web.get("/mcp", self._no_stream),
            web.delete("/mcp", self._no_stream),
        ])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port, backlog=2048).start()
        self._ready.set()

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name, "object": "model", "owned_by": "evals"} for name in ("a", "b", "judge")]})

    async def _shop(self, request: web.Request) -> web.Response:
        tool = request.match_info["tool"]
        raw = await request.read()
        body = json.loads(raw) if raw else dict(request.query)
        self.counts[tool] += 1
        self.received.append((tool, body))
        return web.json_response({"tool": tool, "total": 120, "count": self.counts[tool], **body})

    async def _no_stream(self, request: web.Request) -> web.Response:
        return web.Response(status=405)

    async def _mcp(self, request: web.Request) -> web.Response:
        message = await request.json()
        if "id" not in message:
            return web.Response(status=202)
        match message["method"]:
            case "initialize":
                version = message["params"].get("protocolVersion", "2025-06-18")
                result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "tickets", "version": "1"}}
            case "tools/list":
                schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
                result = {"tools": [{"name": "ticket", "description": "Look up a ticket.", "inputSchema": schema, "annotations": {"readOnlyHint": True}}]}
            case "tools/call":
                self.counts["mcp"] += 1
                result = {"content": [{"type": "text", "text": f"ticket {message['params']['arguments'].get('id')} is open"}]}
            case _:
                result = {}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked = [message for message in body["messages"] if message["role"] == "user"]
        told = directive(text_of(asked[-1])) if asked else {}
        call = Request(body["model"], body, told)
        self.requests.append(call)
        if body["model"] == "judge":
            return await self._judge(request, body, call)
        if told.get("status", 200) != 200:
            call.state = "refused"
            return web.json_response({"error": {"message": "no", "type": "server_error", "code": None}}, status=told["status"])
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            await asyncio.sleep(told.get("ms", 0) / 1000)
            answer = await self._answer(request, body, self._next(body, told), told)
            call.state = "done"
            return answer
        except (ConnectionError, asyncio.CancelledError):
            call.state = "cut"
            raise
        finally:
            self.open -= 1

    def _next(self, body: dict, told: dict) -> dict:
        model = body["model"]
        rounds = told.get("calls", [])
        rounds = rounds.get(model, []) if isinstance(rounds, dict) else rounds
        last = max((index for index, message in enumerate(body["messages"]) if message["role"] == "user"), default=-1)
        done = sum(message["role"] == "assistant" and bool(message.get("tool_calls")) for message in body["messages"][last + 1 :])
        if done < len(rounds):
            calls = [
                {"index": index, "id": f"call_{done}_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for index, (name, arguments) in enumerate(rounds[done])
            ]
            return {"role": "assistant", "content": None, "tool_calls": calls}
        say = told.get("say", "Done.")
        say = say.get(model, "Done.") if isinstance(say, dict) else say
        if flips := told.get("flip"):
            flips = flips[model] if isinstance(flips, dict) else flips
            key = f"{model} {json.dumps(told)} {text_of(body['messages'][last])[:40]}"
            say = flips[self._flips[key] % len(flips)]
            self._flips[key] += 1
        if say == "$results":
            say = " ".join(text_of(message) for message in body["messages"] if message["role"] == "tool")
        return {"role": "assistant", "content": say.replace("~", "")}

    async def _judge(self, request: web.Request, body: dict, call: Request) -> web.StreamResponse:
        verdict = self.verdicts.pop(0) if self.verdicts else "pass"
        call.state = "done"
        if isinstance(verdict, str) and verdict in ("pass", "fail"):
            verdict = json.dumps({"reason": f"judged: {verdict}", "verdict": verdict})
        return await self._answer(request, body, {"role": "assistant", "content": verdict}, call.told)

    async def _answer(self, request: web.Request, body: dict, message: dict, told: dict) -> web.StreamResponse:
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        sent, received = told.get("in", 100), told.get("out", 20)
        usage = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
        head = {"id": "c", "created": 1, "model": body["model"]}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return web.json_response({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        deltas = ({"role": "assistant", **{key: value for key, value in message.items() if key != "role"}}, finish), ({}, finish)
        lines = [
            {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None if number == 0 else end}]}
            for number, (delta, end) in enumerate(deltas)
        ]
        lines.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
        data = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
        await answer.write(data.encode())
        return answer


def directive(text: str) -> dict:
    begin = text.find(MARK)
    try:
        return json.JSONDecoder().raw_decode(text, begin + len(MARK))[0] if begin >= 0 else {}
    except ValueError:
        return {}


def text_of(message: dict) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""
