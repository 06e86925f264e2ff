"""vLLM, by `/v1/completions`. Its constraint is one member of `structured_outputs`."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

import msgspec

from rightseat.core.errors import ModelLoading, ModelRefused, ModelUnreachable
from rightseat.core.events import StopReason
from rightseat.core.values import JsonValue
from rightseat.models.completion.engine import Description, End, Piece, Request
from rightseat.models.completion.engines import tokenizers
from rightseat.models.completion.engines.client import Client
from rightseat.models.completion.engines.options import VllmOptions
from rightseat.models.completion.grammar import gbnf


class Vllm:
    has_triggers = False

    def __init__(self, options: VllmOptions) -> None:
        self.options = options
        self.client = Client(options.url, options.api_key, options.patience, options)
        self._own = Description()
        self._known: Description | None = None

    async def __aenter__(self) -> Self:
        if self.options.tokenizer is not None:
            self._own = tokenizers.describe(self.options.tokenizer)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()

    @property
    def place(self) -> str:
        return f"vLLM at {self.client.where}"

    async def describe(self) -> Description:
        if self._known is None:
            listed = await self.client.ask("/v1/models")
            context = read_context(listed, self.options.model)
            self._known = msgspec.structs.replace(self._own, model=self.options.model, context=context)
        return self._known

    async def count(self, text: str) -> int | None:
        """None where the server has no such endpoint."""
        asked = {"model": self.options.model, "prompt": text, "add_special_tokens": False}
        try:
            answer = await self.client.ask("/tokenize", asked)
        except ModelRefused:
            return None
        count = answer.get("count") if isinstance(answer, dict) else None
        return count if isinstance(count, int) else None

    async def generate(self, request: Request) -> AsyncIterator[Piece | End]:
        reading = Reading()
        try:
            body = write_request(request, await self.describe())
            async with self.client.events("/v1/completions", body) as events:
                async for data in events:
                    if data.startswith(b"[DONE]"):
                        break
                    if (piece := reading.read(self.client.read(data, _decode))) is not None:
                        yield piece
        except (ModelUnreachable, ModelLoading):
            self._known = None
            raise
        if reading.reason is None:
            raise self.client.broken("its answer ended without a finish_reason")
        yield reading.end()


def read_context(listed: Any, model: str) -> int | None:
    entries = listed.get("data") if isinstance(listed, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("id") == model and isinstance(entry.get("max_model_len"), int):
            return int(entry["max_model_len"])
    return None


def write_request(request: Request, described: Description) -> dict[str, object]:
    body: dict[str, object] = {
        "model": described.model,
        "prompt": request.prompt,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_tokens,  # none is as many as there is room for; left out would be 16
        "add_special_tokens": not (described.bos and request.prompt.startswith(described.bos)),
        "skip_special_tokens": not (request.preserved or (request.constraint and request.constraint.preserved)),
    }
    wanted: dict[str, object] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
        "logprobs": request.logprobs,
        "stop": list(request.stop) or None,
    }
    if request.constraint is not None:
        wanted["structured_outputs"] = {"grammar": gbnf.write(request.constraint.grammar)}
    return body | {name: value for name, value in wanted.items() if value is not None}


class Reading:
    """One answer, event by event."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._stop: str | None = None
        self._usage = _Usage()

    def read(self, event: "_Event") -> Piece | None:
        if event.usage is not None:
            self._usage = event.usage
        if not event.choices:
            return None
        choice = event.choices[0]
        if choice.finish_reason is not None:
            self.reason = choice.finish_reason
            self._stop = choice.stop_reason if isinstance(choice.stop_reason, str) else None
        return Piece(choice.text, read_logprobs(choice.logprobs)) if choice.text else None

    def end(self) -> End:
        details = self._usage.prompt_tokens_details
        return End(
            reason=_REASONS.get(self.reason or "", "stop"),
            input_tokens=self._usage.prompt_tokens,
            output_tokens=self._usage.completion_tokens or 0,
            cached_tokens=(details.cached_tokens or 0) if details else 0,
            stop=self._stop,
        )


_REASONS: dict[str, StopReason] = {"length": "length", "content_filter": "filtered"}


class _Logprobs(msgspec.Struct):
    tokens: list[str] = []
    token_logprobs: list[float | None] = []
    top_logprobs: list[dict[str, float] | None] = []


class _Choice(msgspec.Struct, gc=False):
    text: str = ""
    finish_reason: str | None = None
    stop_reason: Any = None
    logprobs: _Logprobs | None = None


class _Cached(msgspec.Struct, gc=False):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    prompt_tokens: int = 0
    completion_tokens: int | None = 0
    prompt_tokens_details: _Cached | None = None


class _Event(msgspec.Struct, gc=False):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Event).decode


def read_logprobs(said: _Logprobs | None) -> tuple[JsonValue, ...]:
    """Completions' form → that of a chat."""
    if said is None:
        return ()
    tops = [*said.top_logprobs, *([None] * len(said.tokens))]
    rows = zip(said.tokens, said.token_logprobs, tops, strict=False)
    return tuple({**_token(token, own), "top_logprobs": _tops(top)} for token, own, top in rows)


def _tops(top: dict[str, float] | None) -> list[JsonValue]:
    return [_token(token, logprob) for token, logprob in (top or {}).items()]


def _token(token: str, logprob: float | None) -> dict[str, JsonValue]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}
