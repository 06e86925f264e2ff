"""The model itself: a request, and its answer read as it comes."""

import asyncio
from collections.abc import AsyncIterator, Container, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import msgspec

from rightseat.core.closing import closing
from rightseat.core.continuing import Known
from rightseat.core.deadlines import Timeouts
from rightseat.core.errors import ConfigError, ModelError, ModelRefused
from rightseat.core.model import Begun, CannotContinue, Chunk, NoteChunk, Prompt, UsageChunk
from rightseat.core.values import JSON_ERRORS
from rightseat.egress.credentials import Credentials, aws, entra, google_cloud
from rightseat.egress.redaction import secrets_in
from rightseat.models.anthropic.options import SERVICES, Options
from rightseat.models.anthropic.prefill import counted, unsent, write_prefill
from rightseat.models.anthropic.reading import Reader
from rightseat.models.anthropic.request import Request, write_request
from rightseat.models.upstream import Upstream
from rightseat.wire import eventstream

_encode = msgspec.json.Encoder().encode

BEDROCK_VERSIONS = {"2023-06-01": "bedrock-2023-05-31"}
"""Where Bedrock calls a version of the API by another name."""


class Anthropic:
    """`Anthropic("claude-sonnet-5", api_key=…)` in Python; with `Options` from the configuration."""

    def __init__(self, options: Options | str, **more: Any) -> None:
        self.options = options if isinstance(options, Options) else Options(model=options, **more)
        options = self.options
        key = options.api_key.get_secret_value() if options.api_key else ""
        headers = {name.lower(): value.get_secret_value() for name, value in options.headers.items()}
        self._upstream = Upstream(
            options.address,
            introduce(options, key) | headers,
            (key, *headers.values(), *secrets_in(options.extra)),
            Timeouts(options.patience, options.answer_timeout),
            find_credentials(options, headers),
            model=options.model,
            network=options,
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
            decoder=eventstream.Decoder() if self.options.platform == "bedrock-runtime" else None,
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
                    read, spoken = chunk.input_tokens - said, chunk.output_tokens + said
                    chunk = msgspec.structs.replace(chunk, input_tokens=read, output_tokens=spoken)
                if (new := known.take(chunk)) is not None:
                    yield new

    async def _count(self, body: Mapping[str, object]) -> int:
        try:
            answer = await self._upstream.post("/v1/messages/count_tokens", _encode(counted(body)))
            return _decode_count(answer).input_tokens
        except (ModelError, *JSON_ERRORS) as error:
            raise CannotContinue(f"its tokens could not be counted: {error}") from error


class _Count(msgspec.Struct):
    input_tokens: int


_decode_count = msgspec.json.Decoder(_Count).decode


def find_credentials(options: Options, headers: Container[str]) -> Credentials | None:
    """What is asked with where no key is, and none in a header of the operator's, either.

    Raises `ConfigError` where a cloud's own address is given nothing at all; at another one, a relay may have the key.
    """
    if options.aws is not None:
        return aws.Aws(options.aws, options.region or "", SERVICES[options.platform])
    if options.entra is not None:
        return entra.credentials(options.entra)
    if options.api_key is not None or "authorization" in headers:
        return None
    if options.platform == "vertex":
        return google_cloud.credentials(options.credentials, network=options)
    other = {"bedrock": "aws", "bedrock-runtime": "aws", "foundry": "entra"}.get(options.platform)
    if other is not None and options.base_url is None and "x-api-key" not in headers and "api-key" not in headers:
        raise ConfigError(f"Claude on the platform {options.platform} needs `api_key` or `{other}`.")
    return None


def introduce(options: Options, key: str) -> dict[str, str]:
    """The headers that say who asks, and in which version of the API."""
    takes_bearer = options.platform not in ("anthropic", "foundry")
    said = {"authorization": f"Bearer {key}"} if takes_bearer else {"x-api-key": key}
    said = said if key else {}
    if options.platform == "bedrock-runtime":
        return said | {"accept": eventstream.MEDIA_TYPE}
    return said if options.platform == "vertex" else said | {"anthropic-version": options.version}


def write_path(options: Options, request: Request) -> str:
    """Google Cloud and Bedrock's older address want the model in the path and the version in the body."""
    if options.platform not in ("vertex", "bedrock-runtime"):
        return "/v1/messages"
    model = str(request.body.pop("model"))
    request.body["anthropic_version"] = options.version
    if options.platform == "bedrock-runtime":
        return write_invocation(options, request, model)
    where = f"/projects/{options.project}/locations/{options.region}/publishers/anthropic"
    return f"{where}/models/{quote(model, safe='@')}:streamRawPredict"


def write_invocation(options: Options, request: Request, model: str) -> str:
    """That the answer is streamed is in the path, too; and what is a header elsewhere is a field here."""
    if not model.strip("."):
        raise ModelRefused(f"{model!r} is no name of a model.", 400)
    del request.body["stream"]
    request.body["anthropic_version"] = BEDROCK_VERSIONS.get(options.version, options.version)
    for name, value in options.headers.items():
        if name.lower() == "anthropic-beta":
            request.body.setdefault("anthropic_beta", value.get_secret_value().split(","))
    return f"/model/{quote(model, safe=':')}/invoke-with-response-stream"
