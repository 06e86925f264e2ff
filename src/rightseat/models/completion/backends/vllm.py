"""The backend vLLM, by `/v1/completions` with `structured_outputs`."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

import msgspec

from rightseat.core.errors import ModelLoading, ModelRefused, ModelUnreachable
from rightseat.core.events import StopReason
from rightseat.core.types import JsonValue
from rightseat.models.completion.backend import CompletionRequest, Description, End, TextPiece
from rightseat.models.completion.backends import tokenizers
from rightseat.models.completion.backends.client import BackendClient
from rightseat.models.completion.backends.options import VllmOptions
from rightseat.models.completion.grammar.output import gbnf


class Vllm:
    has_triggers = False

    def __init__(self, options: VllmOptions) -> None:
        self.options = options
        self.client = BackendClient(options.url, options.api_key, options.timeout, options)
        self._tokenizer = Description()
        self._description: Description | None = None

    async def __aenter__(self) -> Self:
        if self.options.tokenizer is not None:
            self._tokenizer = tokenizers.describe(self.options.tokenizer)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()

    @property
    def place(self) -> str:
        return f"vLLM at {self.client.url}"

    async def describe(self) -> Description:
        if self._description is None:
            listed = await self.client.fetch_json("/v1/models")
            context_window = read_context_window(listed, self.options.model)
            self._description = msgspec.structs.replace(
                self._tokenizer, model=self.options.model, context_window=context_window
            )
        return self._description

    async def count(self, text: str) -> int | None:
        """Return None if the server has no such endpoint."""
        body = {"model": self.options.model, "prompt": text, "add_special_tokens": False}
        try:
            response = await self.client.fetch_json("/tokenize", body)
        except ModelRefused:
            return None
        count = response.get("count") if isinstance(response, dict) else None
        return count if isinstance(count, int) else None

    async def generate(self, request: CompletionRequest) -> AsyncIterator[TextPiece | End]:
        reader = ResponseReader()
        try:
            body = write_request(request, await self.describe())
            async with self.client.events("/v1/completions", body) as events:
                async for data in events:
                    if data.startswith(b"[DONE]"):
                        break
                    if (piece := reader.read(self.client.read(data, _decode))) is not None:
                        yield piece
        except (ModelUnreachable, ModelLoading):
            self._description = None
            raise
        if reader.reason is None:
            raise self.client.invalid_response("its response ended without a finish_reason")
        yield reader.end()


def read_context_window(listed: Any, model: str) -> int | None:
    entries = listed.get("data") if isinstance(listed, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("id") == model and isinstance(entry.get("max_model_len"), int):
            return int(entry["max_model_len"])
    return None


def write_request(request: CompletionRequest, described: Description) -> dict[str, object]:
    body: dict[str, object] = {
        "model": described.model,
        "prompt": request.prompt,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_tokens,  # null means as many as fit; vLLM's default would be 16
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


class ResponseReader:
    """Reads one response, event by event."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._stop: str | None = None
        self._usage = _Usage()

    def read(self, event: "_Event") -> TextPiece | None:
        if event.usage is not None:
            self._usage = event.usage
        if not event.choices:
            return None
        choice = event.choices[0]
        if choice.finish_reason is not None:
            self.reason = choice.finish_reason
            self._stop = choice.stop_reason if isinstance(choice.stop_reason, str) else None
        return TextPiece(choice.text, read_logprobs(choice.logprobs)) if choice.text else None

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


def read_logprobs(logprobs: _Logprobs | None) -> tuple[JsonValue, ...]:
    """Convert the format of completions to that of chats."""
    if logprobs is None:
        return ()
    tops = [*logprobs.top_logprobs, *([None] * len(logprobs.tokens))]
    rows = zip(logprobs.tokens, logprobs.token_logprobs, tops, strict=False)
    return tuple({**_token(token, own), "top_logprobs": _tops(top)} for token, own, top in rows)


def _tops(top: dict[str, float] | None) -> list[JsonValue]:
    return [_token(token, logprob) for token, logprob in (top or {}).items()]


def _token(token: str, logprob: float | None) -> dict[str, JsonValue]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}
