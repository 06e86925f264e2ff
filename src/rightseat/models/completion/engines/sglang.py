"""SGLang, by `/generate`. It says with each event all that it has said so far, unless it was started otherwise."""

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self

import msgspec

from rightseat.core.errors import BadAsk, ModelLoading, ModelUnreachable
from rightseat.core.events import StopReason
from rightseat.models.completion.engine import Description, End, Piece, Request
from rightseat.models.completion.engines import tokenizers
from rightseat.models.completion.engines.client import Client
from rightseat.models.completion.engines.options import SglangOptions
from rightseat.models.completion.grammar import gbnf


class Sglang:
    grammars = frozenset({"grammar", "schema"})

    def __init__(self, options: SglangOptions) -> None:
        self.options = options
        self.client = Client(options.url, options.api_key, options.patience)
        self._own = Description()
        self._known: Description | None = None
        self._sends_all = True

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
        return f"SGLang at {self.client.where}"

    async def describe(self) -> Description:
        if self._known is None:
            said = await self.client.ask("/get_server_info")
            info: dict[str, Any] = said if isinstance(said, dict) else {}
            self._sends_all = not (info.get("stream_output") or info.get("incremental_streaming_output"))
            context, model = info.get("context_length"), info.get("model_path")
            self._known = msgspec.structs.replace(
                self._own,
                model=model if isinstance(model, str) else "",
                context=context if isinstance(context, int) else None,
            )
        return self._known

    async def count(self, text: str) -> int | None:
        return await self.client.count(text)

    async def generate(self, request: Request) -> AsyncIterator[Piece | End]:
        if request.logprobs is not None:
            raise BadAsk("SGLang is not asked for logprobs by us.")
        said, last = "", _Event()
        try:
            body = write_request(request, await self.describe())
            async with self.client.events("/generate", body) as events:
                async for data in events:
                    if data.startswith(b"[DONE]"):
                        break
                    last = self.client.read(data, _decode)
                    piece = last.text
                    if self._sends_all:
                        piece, said = self._news(last.text, said), last.text
                    if piece:
                        yield Piece(piece)
        except (ModelUnreachable, ModelLoading):
            self._known = None
            raise
        yield self._end(last)

    def _news(self, text: str, said: str) -> str:
        if not text.startswith(said):
            raise self.client.broken("an event takes back what was said before")
        return text[len(said) :]

    def _end(self, last: "_Event") -> End:
        told = last.meta_info
        finish = told.finish_reason
        if finish is None:
            raise self.client.broken("its answer ended without a finish_reason")
        if finish.type == "abort":
            raise self.client.failure(finish.message or "it was aborted", finish.status_code or 500)
        return End(
            reason=_REASONS.get(finish.type, "stop"),
            input_tokens=told.prompt_tokens,
            output_tokens=told.completion_tokens,
            cached_tokens=told.cached_tokens,
            stop=finish.matched if isinstance(finish.matched, str) else None,
        )


def write_request(request: Request, described: Description) -> dict[str, object]:
    wanted: dict[str, object] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "sampling_seed": request.seed,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
        "stop": list(request.stop) or None,
    }
    sampling = {name: value for name, value in wanted.items() if value is not None}
    sampling["max_new_tokens"] = request.max_tokens  # none is as many as there is room for; left out would be 128
    sampling["skip_special_tokens"] = not (request.preserved or (request.constraint and request.constraint.preserved))
    if request.constraint is not None:
        sampling["ebnf"] = gbnf.write(request.constraint.grammar)
    prompt = request.prompt.removeprefix(described.bos)  # its tokenizer adds that
    return {"text": prompt, "sampling_params": sampling, "stream": True}


_REASONS: dict[str, StopReason] = {"length": "length"}


class _Finish(msgspec.Struct, gc=False):
    type: str = ""
    matched: Any = None
    message: str | None = None
    status_code: int | None = None


class _Meta(msgspec.Struct, gc=False):
    finish_reason: _Finish | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


class _Event(msgspec.Struct, gc=False):
    text: str = ""
    meta_info: _Meta = msgspec.field(default_factory=_Meta)
    error: Any = None


_decode = msgspec.json.Decoder(_Event).decode
