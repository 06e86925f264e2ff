"""Scenarios: how they are declared, what they are given, how they complain; and what makes a stream of events right."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import anthropic
import httpx
from anthropic.types import Message, RawMessageStreamEvent
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent
from pydantic import TypeAdapter, ValidationError

from tests.acceptance._lib.protocol_suite import ProtocolCase, run_client
from tests.acceptance._lib.scenarios import Scenarios, Skip, expect, short, until  # noqa: F401  (scenarios import them from here)

PLAIN, BETA = TypeAdapter(RawMessageStreamEvent), TypeAdapter(BetaRawMessageStreamEvent)
LOOKUP = {"name": "lookup", "description": "Look something up.", "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}
NOTE = {"name": "note", "description": "Write something down.", "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}}}
ERRORS = {400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error", 405: "invalid_request_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 502: "api_error", 503: "api_error", 504: "timeout_error", 529: "overloaded_error"}
DELTAS = {"text": {"text_delta", "citations_delta"}, "thinking": {"thinking_delta", "signature_delta"}, "tool_use": {"input_json_delta"}, "mcp_tool_use": {"input_json_delta"}, "server_tool_use": {"input_json_delta"}}


SCENARIOS = Scenarios()
scenario = SCENARIOS.add


def fits(check: Callable, raw: dict, what: str) -> None:
    try:
        check(raw)
    except ValidationError as e:
        found = sorted(e.errors(), key=lambda x: (x["type"] == "literal_error", len(x["loc"])))[0]
        raise AssertionError(f"expected {what} to fit the SDK's type, got {'.'.join(map(str, found['loc'][-4:]))}: {found['msg']} in {short(raw, 300)}") from None


def message(value: Any, beta: bool = False) -> dict:
    """A message that fits the SDK's type and has what clients rely on."""
    raw = value if isinstance(value, dict) else value.to_dict()
    fits((BetaMessage if beta else Message).model_validate, raw, "the message")
    expect(raw.get("type") == "message" and raw.get("role") == "assistant" and raw.get("id"), "type message, role assistant, an id", raw)
    expect(raw.get("stop_reason"), "a stop_reason", raw)
    expect("stop_sequence" in raw, "stop_sequence, null or the sequence", sorted(raw))
    usage = raw.get("usage") or {}
    expect(isinstance(usage.get("input_tokens"), int) and isinstance(usage.get("output_tokens"), int), "usage with input_tokens and output_tokens", usage)
    uses = [b for b in raw["content"] if b["type"] == "tool_use"]
    expect(bool(uses) == (raw["stop_reason"] == "tool_use") or raw["stop_reason"] in ("max_tokens", "refusal"), "tool_use blocks where, and only where, stop_reason is tool_use", (raw["stop_reason"], kinds(raw)))
    return raw


def said(raw: dict) -> str:
    return "".join(b["text"] for b in raw["content"] if b["type"] == "text")


def uses(raw: dict) -> list[dict]:
    return [b for b in raw["content"] if b["type"] == "tool_use"]


def kinds(raw: dict) -> list[str]:
    return [b["type"] for b in raw["content"]]


def results(raw: dict, *texts: Any) -> dict:
    """The user's message with a result for each call."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": b["id"], "content": t} for b, t in zip(uses(raw), texts, strict=True)]}


def turn(raw: dict) -> dict:
    return {"role": "assistant", "content": raw["content"]}


class Frames(list):
    """The frames of one stream, as they came: (event, data). `check` holds the protocol's order against them."""

    @classmethod
    def of(cls, text: str) -> "Frames":
        found = cls()
        for frame in text.replace("\r\n", "\n").split("\n\n"):
            lines = [line for line in frame.split("\n") if line and not line.startswith(":")]
            if not lines:
                continue
            data = "\n".join(line[5:].lstrip() for line in lines if line.startswith("data:"))
            event = next((line[6:].strip() for line in lines if line.startswith("event:")), None)
            expect(data != "[DONE]", "no [DONE]: Anthropic's streams end with message_stop", frame)
            found.append((event, json.loads(data)))
        return found

    @property
    def types(self) -> list[str]:
        return [d.get("type") for _, d in self]

    def check(self, beta: bool = False) -> dict:
        """The message that they amount to."""
        expect(self, "events", "none")
        for event, data in self:
            expect(event == data.get("type"), "an event: line with the type of the data", (event, data))
            if event not in ("ping", "error"):
                fits((BETA if beta else PLAIN).validate_python, data, event)
        order = [t for t in self.types if t != "ping"]
        expect(order[0] == "message_start" and order.count("message_start") == 1, "message_start first, once", order[:4])
        expect(order[-2:] == ["message_delta", "message_stop"] and order.count("message_delta") == order.count("message_stop") == 1, "message_delta and message_stop at the end, once each", order[-4:])
        whole = dict(self[self.types.index("message_start")][1]["message"])
        expect(whole["content"] == [] and whole.get("stop_reason") is None and whole.get("stop_sequence") is None, "message_start without content and stop_reason", whole)
        content: list[dict] = []
        open_: int | None = None
        pieces = ""
        for data in (d for _, d in self):
            kind = data["type"]
            if kind == "content_block_start":
                expect(open_ is None, "content_block_stop before the next content_block_start", data)
                expect(data["index"] == len(content), f"index {len(content)}", data)
                block = dict(data["content_block"])
                if block["type"] in ("text", "thinking"):
                    expect(block[block["type"]] == "", f"an empty {block['type']} block at its start", block)
                if block["type"] in ("tool_use", "mcp_tool_use"):
                    expect(block["input"] == {}, "input {} at the start of a call", block)
                content.append(block)
                open_, pieces = data["index"], ""
            elif kind == "content_block_delta":
                expect(data["index"] == open_, f"a delta of the open block ({open_})", data)
                block, delta = content[open_], data["delta"]
                expect(delta["type"] in DELTAS.get(block["type"], ()), f"a delta that belongs to a {block['type']} block", delta)
                if delta["type"] == "text_delta":
                    block["text"] += delta["text"]
                elif delta["type"] == "thinking_delta":
                    block["thinking"] += delta["thinking"]
                elif delta["type"] == "signature_delta":
                    block["signature"] = delta["signature"]
                elif delta["type"] == "input_json_delta":
                    pieces += delta["partial_json"]
            elif kind == "content_block_stop":
                expect(data["index"] == open_, f"content_block_stop of the open block ({open_})", data)
                block = content[open_]
                if block["type"] in ("tool_use", "mcp_tool_use"):
                    try:
                        block["input"] = json.loads(pieces or "{}")
                    except ValueError:
                        raise AssertionError(f"expected input_json_delta to add up to JSON, got {pieces!r}") from None
                open_ = None
            elif kind == "message_delta":
                expect(open_ is None, "all blocks stopped before message_delta", data)
                whole |= {k: v for k, v in data["delta"].items()}
                whole["usage"] = {**whole["usage"], **data["usage"]}
        whole["content"] = content
        return message(whole, beta)


@dataclass
class Case(ProtocolCase):
    """What a scenario works with."""

    @property
    def base(self) -> str:
        """What the clients call their base URL."""
        return self.url if self.reference else self.url + "/anthropic"

    @property
    def secure(self) -> str:
        return self.url if self.reference else self.url + "/secure/anthropic"

    @property
    def any_key(self) -> str:
        return "key-alice" if self.reference else "sk-none"

    def to(self, base: str, key: str | None = None, **kw) -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=base, api_key=key or self.any_key, **{"max_retries": 0, "timeout": 30} | kw)

    @property
    def client(self) -> anthropic.Anthropic:
        return self.to(self.base)

    def user(self, name: str, **kw) -> anthropic.Anthropic:
        return self.to(self.secure, f"key-{name}", **kw)

    def langchain(self, *words: str) -> Any:
        """What the client of LangChain prints, in an environment of its own."""
        return run_client(os.environ["RS_SUITE_LANGCHAIN"], Path(__file__).with_name("langchain_client.py"), *words)

    @staticmethod
    def body(words: Any, model: str = "default", **kw) -> dict:
        messages = [{"role": "user", "content": words}] if isinstance(words, str) else words
        return {"model": model, "max_tokens": 1000, "messages": messages} | kw

    def create(self, words: Any, client: anthropic.Anthropic | None = None, model: str = "default", beta: bool = False, **kw) -> dict:
        c = client or self.client
        return message((c.beta if beta else c).messages.create(**self.body(words, model, **kw)), beta)

    def stream(self, words: Any, model: str = "default", beta: str = "", base: str | None = None, key: str | None = None, **kw) -> tuple[dict, Frames]:
        """Raw, byte for byte: the frames, and the message that they amount to."""
        answer = self.raw("POST", "/v1/messages", self.body(words, model, stream=True, **kw), base=base, key=key, headers={"anthropic-beta": beta} if beta else {})
        expect(answer.status_code == 200, "a stream", f"{answer.status_code} {answer.text[:300]}")
        expect(answer.headers["content-type"].startswith("text/event-stream"), "text/event-stream", answer.headers["content-type"])
        frames = Frames.of(answer.text)
        return frames.check(bool(beta)), frames

    def both(self, words: Any, **kw) -> dict:
        """Unstreamed through the SDK, streamed raw, and streamed through the SDK's accumulator: the same but for ids."""
        plain = self.create(words, **kw)
        streamed, _ = self.stream(words, **kw)
        with self.client.messages.stream(**self.body(words, **kw)) as s:
            helped = message(s.get_final_message())
        show = lambda r: [(b["type"], b.get("name"), b.get("input"), b.get("text"), b.get("thinking")) for b in r["content"]]
        for other, how in ((streamed, "streamed"), (helped, "streamed through the SDK's helper")):
            expect(show(plain) == show(other), f"{how} the same blocks as unstreamed, {short(show(plain))}", show(other))
            expect((plain["stop_reason"], plain["stop_sequence"]) == (other["stop_reason"], other["stop_sequence"]), f"{how} the same stop_reason, {plain['stop_reason']}", other["stop_reason"])
            counts = lambda r: [r["usage"].get(n) or 0 for n in ("input_tokens", "output_tokens", "cache_read_input_tokens")]
            expect(counts(plain) == counts(other), f"{how} the same usage, {counts(plain)}", counts(other))
        return streamed

    def raw(self, method: str, path: str, body: Any = None, base: str | None = None, key: str | None = None, **kw) -> httpx.Response:
        headers = {"x-api-key": key or self.any_key, "anthropic-version": "2023-06-01"} | kw.pop("headers", {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("content-type", "application/json")
        return httpx.request(method, (base or self.base) + path, content=body, headers=headers, timeout=kw.pop("timeout", 30), **kw)

    def operator(self, method: str, path: str, body: Any = None) -> Any:
        """The console's own API, as the operator olga."""
        answer = httpx.request(method, f"{self.url}/operator/{path}", json=body, headers={"authorization": "Bearer key-olga"}, timeout=20)
        expect(answer.status_code < 300, f"an answer of /operator/{path}", f"{answer.status_code} {answer.text[:200]}")
        return answer.json()


def refusal(got: httpx.Response | anthropic.APIStatusError, statuses: tuple, what: str, kind: str | None = None) -> dict:
    """Anthropic's error form: `{"type": "error", "error": {"type", "message"}}`, its type as the status has it."""
    status, text = (got.status_code, json.dumps(got.body)) if isinstance(got, anthropic.APIStatusError) else (got.status_code, got.text)
    expect(status in statuses, f"{' or '.join(map(str, statuses))} ({what})", f"{status} {text[:300]}")
    try:
        whole = json.loads(text)
        error = whole["error"]
    except (ValueError, KeyError, TypeError):
        raise AssertionError(f"expected Anthropic's error form ({what}), got {status} {short(text, 200)}") from None
    expect(whole.get("type") == "error" and isinstance(error, dict) and isinstance(error.get("message"), str) and error["message"], f'{{"type": "error", "error": {{"type", "message"}}}} ({what})', whole)
    wanted = kind or ERRORS[status]
    expect(error.get("type") == wanted, f"the type {wanted} ({what})", error)
    expect("Traceback" not in text and "sk-fake" not in text, f"neither stack nor key ({what})", text)
    return error


def refuses(call: Callable, statuses: tuple, what: str, **kw) -> dict:
    try:
        got = call()
    except anthropic.APIStatusError as e:
        return refusal(e, statuses, what, **kw)
    raise AssertionError(f"expected {statuses[0]} ({what}), got an answer: {short(got, 200)}")
