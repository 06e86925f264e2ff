"""Each backend, played by a local server in its own words: what it says of itself, and one answer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rightseat.models.completion.backends import AnyBackend, LlamaCpp, Vllm
from rightseat.models.completion.backends.options import VllmOptions
from tests.tcp import Script, Visit, chunked

PROPS: dict[str, Any] = {
    "default_generation_settings": {"n_ctx": 4096},
    "total_slots": 2,
    "model_alias": "m.gguf",
    "chat_template": "{{ messages }}",
    "chat_template_caps": {"supports_tools": True},
    "bos_token": "<s>",
    "eos_token": "</s>",
}


@dataclass
class Played:
    """What a server says: to each path a JSON answer, and a stream to the one that completes."""

    path: str
    stream: bytes
    told: Mapping[str, Any] = field(default_factory=dict)
    breaks: bool = False
    asked: list[dict[str, Any]] = field(default_factory=list)

    def script(self) -> Script:
        async def script(visit: Visit) -> None:
            while True:
                request = await visit.request()
                path = request.line.split()[1]
                if path != self.path:
                    await visit.send(answer(200, self.told[path]))
                    continue
                self.asked.append(request.json)
                await visit.send(HEAD, self.stream)
                if self.breaks:
                    await visit.gone()
                    return

        return script


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def answer(status: int, body: Any) -> bytes:
    data = json.dumps(body).encode()
    return b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
        status,
        len(data),
        data,
    )


def event(body: Any) -> bytes:
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def cut(stream: bytes) -> bytes:
    """In pieces of seven bytes, within lines and characters."""
    return chunked(*(stream[at : at + 7] for at in range(0, len(stream), 7)))


def play_llama_cpp(pieces: list[str], reason: str) -> Played:
    events = [{"index": 0, "content": piece, "tokens": [1], "stop": False, "id_slot": -1} for piece in pieces]
    last = {
        "index": 0,
        "content": "",
        "stop": True,
        "model": "m.gguf",
        "stop_type": {"stop": "eos", "length": "limit"}[reason],
        "stopping_word": "",
        "tokens_predicted": len(pieces),
        "tokens_evaluated": 9,
        "timings": {"cache_n": 4, "prompt_n": 5},
    }
    told = {"/props": PROPS, "/tokenize": {"tokens": []}}
    return Played("/completion", cut(b"".join(map(event, [*events, last]))), told)


def play_vllm(pieces: list[str], reason: str) -> Played:
    events: list[dict[str, Any]] = [completion({"text": piece, "finish_reason": None}) for piece in pieces]
    events[-1]["choices"][0] |= {"finish_reason": reason, "stop_reason": None}
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": len(pieces),
        "total_tokens": 9 + len(pieces),
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    stream = b"".join(map(event, [*events, {**completion(), "usage": usage}])) + b"data: [DONE]\n\n"
    told = {"/v1/models": {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 4096}]}}
    return Played("/v1/completions", cut(stream), told)


def completion(*choices: dict[str, Any]) -> dict[str, Any]:
    listed = [{"index": 0, "logprobs": None, **choice} for choice in choices]
    return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": listed, "usage": None}


Play = Callable[[list[str], str], Played]

PLAYERS: dict[str, Play] = {
    "llama_cpp": play_llama_cpp,
    "vllm": play_vllm,
}


def build(name: str, url: str, **more: Any) -> AnyBackend:
    match name:
        case "llama_cpp":
            return LlamaCpp(url, **more)
        case "vllm":
            return Vllm(VllmOptions(type="vllm", url=url, model="m", **more))
    raise AssertionError(name)
