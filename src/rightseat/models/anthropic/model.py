"""The model itself: a request, and its answer read as it comes."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import msgspec

from rightseat.core.closing import closing
from rightseat.core.continuing import Known
from rightseat.core.errors import ModelError
from rightseat.core.model import Begun, CannotContinue, Chunk, NoteChunk, Prompt, UsageChunk
from rightseat.models.anthropic.options import Options
from rightseat.models.anthropic.prefill import counted, unsent, write_prefill
from rightseat.models.anthropic.reading import Reader
from rightseat.models.anthropic.request import Request, write_request
from rightseat.models.google_cloud import Tokens
from rightseat.models.upstream import Upstream

_encode = msgspec.json.Encoder().encode


class Anthropic:
    """`Anthropic("claude-sonnet-5", api_key=…)` in Python; with `Options` from the configuration."""

    def __init__(self, options: Options | str, **more: Any) -> None:
        self.options = options if isinstance(options, Options) else Options(model=options, **more)
        options = self.options
        key = options.api_key.get_secret_value() if options.api_key else ""
        headers = {name.lower(): value.get_secret_value() for name, value in options.headers.items()}
        self._tokens = Tokens(options.credentials) if options.platform == "vertex" and not key else None
        self._upstream = Upstream(
            options.address, introduce(options, key) | headers, (key, *headers.values()), options.patience
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._upstream.aclose()

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        request = write_request(self.options, prompt)
        return self._upstream.stream(
            write_path(self.options, request),
            _encode(request.body),
            Reader(request.model),
            first=[NoteChunk("warning", note) for note in request.notes],
            headers=self._tokens.headers if self._tokens else None,
        )

    async def go_on(self, prompt: Prompt, begun: Begun) -> AsyncIterator[Chunk]:
        request = write_request(self.options, prompt)
        body = write_prefill(self.options, request, begun)
        known = Known(unsent(begun))
        before, after = await asyncio.gather(self._count(request.body), self._count(body))
        said = after - before
        most = request.body["max_tokens"]
        if not isinstance(most, int) or most <= said:
            raise CannotContinue("it was as long as it may be")
        body["max_tokens"] = most - said
        answer = self._upstream.stream("/v1/messages", _encode(body), Reader(request.model))
        async with closing(answer) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, UsageChunk):
                    chunk = UsageChunk(chunk.input_tokens - said, chunk.output_tokens + said)
                if (new := known.take(chunk)) is not None:
                    yield new

    async def _count(self, body: Mapping[str, object]) -> int:
        try:
            answer = await self._upstream.post("/v1/messages/count_tokens", _encode(counted(body)))
            return _decode_count(answer).input_tokens
        except (ModelError, msgspec.DecodeError) as error:
            raise CannotContinue(f"its tokens could not be counted: {error}") from error


class _Count(msgspec.Struct):
    input_tokens: int


_decode_count = msgspec.json.Decoder(_Count).decode


def introduce(options: Options, key: str) -> dict[str, str]:
    """The headers that say who asks, and in which version of the API."""
    if options.platform == "vertex":
        return {"authorization": f"Bearer {key}"} if key else {}
    version: dict[str, str] = {"anthropic-version": options.version}
    if not key:
        return version
    return version | ({"authorization": f"Bearer {key}"} if options.platform == "bedrock" else {"x-api-key": key})


def write_path(options: Options, request: Request) -> str:
    """Google Cloud wants the model in the path and the version in the body."""
    if options.platform != "vertex":
        return "/v1/messages"
    model = quote(str(request.body.pop("model")), safe="@")
    request.body["anthropic_version"] = options.version
    return (
        f"/projects/{options.project}/locations/{options.region}/publishers/anthropic/models/{model}:streamRawPredict"
    )
