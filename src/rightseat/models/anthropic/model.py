"""The adapter of Anthropic's models: sends requests and continues interrupted responses."""

import asyncio
from collections.abc import AsyncIterator, Container, Mapping
from functools import partial
from typing import Any, Self
from urllib.parse import quote

import msgspec

from rightseat.concurrency import aclosing
from rightseat.core.errors import ConfigError, ModelError, ModelRefused, ModelUnreachable
from rightseat.core.loop.continuation import OverlapFilter
from rightseat.core.model import CannotContinue, Chunk, NoteChunk, PartialOutput, Prompt, UsageChunk
from rightseat.core.types import JSON_ERRORS
from rightseat.egress.credentials import Credentials, aws, entra, google_cloud
from rightseat.egress.deadlines import Timeouts
from rightseat.egress.redaction import find_secrets
from rightseat.models.anthropic.decoder import AnthropicDecoder
from rightseat.models.anthropic.options import SERVICES, Options
from rightseat.models.anthropic.prefill import select_counted, trailing_space, write_prefill
from rightseat.models.anthropic.request import AnthropicRequest, write_request
from rightseat.models.upstream import Upstream
from rightseat.wire import eventstream

_encode = msgspec.json.Encoder().encode

BEDROCK_VERSIONS = {"2023-06-01": "bedrock-2023-05-31"}
"""API versions that have another name at Bedrock."""


class Anthropic:
    """`Anthropic("claude-sonnet-5", api_key=…)` in Python; with `Options` from the configuration."""

    def __init__(self, options: Options | str, **more: Any) -> None:
        self.options = options if isinstance(options, Options) else Options(model=options, **more)
        options = self.options
        key = options.api_key.get_secret_value() if options.api_key else ""
        headers = {name.lower(): value.get_secret_value() for name, value in options.headers.items()}
        self._upstream = Upstream(
            options.address,
            auth_headers(options, key) | headers,
            (key, *headers.values(), *find_secrets(options.extra)),
            Timeouts(options.timeout, options.total_timeout),
            find_credentials(options, headers),
            model=options.model,
            network=options,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._upstream.aclose()

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        request = write_request(self.options, prompt)
        return self._upstream.stream(
            write_path(self.options, request),
            partial(_encode, request.body),
            AnthropicDecoder(request.model),
            first=[NoteChunk("warning", note) for note in request.notes],
            frames=eventstream.EventStreamDecoder() if self.options.platform == "bedrock-runtime" else None,
        )

    async def continue_stream(self, prompt: Prompt, begun: PartialOutput) -> AsyncIterator[Chunk]:
        request = write_request(self.options, prompt)
        body = write_prefill(self.options, request, begun)
        known = OverlapFilter(trailing_space(begun))
        before, after = await asyncio.gather(self._count(request.body), self._count(body))
        prefilled = after - before
        max_tokens = request.body["max_tokens"]
        if not isinstance(max_tokens, int) or max_tokens <= prefilled:
            raise CannotContinue("it had reached its maximum length")
        body["max_tokens"] = max_tokens - prefilled
        response = self._upstream.stream("/v1/messages", partial(_encode, body), AnthropicDecoder(request.model))
        async with aclosing(response) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, UsageChunk):
                    chunk = msgspec.structs.replace(
                        chunk,
                        input_tokens=chunk.input_tokens - prefilled,
                        output_tokens=chunk.output_tokens + prefilled,
                    )
                if (new := known.filter(chunk)) is not None:
                    yield new

    async def count_prompt(self, prompt: Prompt) -> int | None:
        """The clouds do not count."""
        if self.options.platform != "anthropic":
            return None
        body = select_counted(write_request(self.options, prompt).body)
        response = await self._upstream.post("/v1/messages/count_tokens", _encode(body))
        try:
            return _decode_count(response).input_tokens
        except JSON_ERRORS as error:
            raise ModelUnreachable(
                f"The model provider returned something other than a token count: {error}"
            ) from error

    async def _count(self, body: Mapping[str, object]) -> int:
        try:
            response = await self._upstream.post("/v1/messages/count_tokens", _encode(select_counted(body)))
            return _decode_count(response).input_tokens
        except (ModelError, *JSON_ERRORS) as error:
            raise CannotContinue(f"its tokens could not be counted: {error}") from error


class _TokenCount(msgspec.Struct):
    input_tokens: int


_decode_count = msgspec.json.Decoder(_TokenCount).decode


def find_credentials(options: Options, headers: Container[str]) -> Credentials | None:
    """Return the cloud credentials, or None if a key or a header of the operator authenticates.

    Raises `ConfigError` if a cloud's own address has neither; at another address a relay may add the key.
    """
    if options.aws is not None:
        return aws.AwsCredentials(options.aws, options.region or "", SERVICES[options.platform])
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


def auth_headers(options: Options, key: str) -> dict[str, str]:
    """Return the headers for authentication and the API version."""
    uses_bearer = options.platform not in ("anthropic", "foundry")
    headers = {"authorization": f"Bearer {key}"} if uses_bearer else {"x-api-key": key}
    headers = headers if key else {}
    if options.platform == "bedrock-runtime":
        return headers | {"accept": eventstream.MEDIA_TYPE}
    return headers if options.platform == "vertex" else headers | {"anthropic-version": options.version}


def write_path(options: Options, request: AnthropicRequest) -> str:
    """Google Cloud and Bedrock's older endpoint expect the model in the path and the version in the body."""
    if options.platform not in ("vertex", "bedrock-runtime"):
        return "/v1/messages"
    model = str(request.body.pop("model"))
    request.body["anthropic_version"] = options.version
    if options.platform == "bedrock-runtime":
        return write_invocation(options, request, model)
    prefix = f"/projects/{options.project}/locations/{options.region}/publishers/anthropic"
    return f"{prefix}/models/{quote(model, safe='@')}:streamRawPredict"


def write_invocation(options: Options, request: AnthropicRequest, model: str) -> str:
    """The path also requests streaming, and `anthropic-beta` is a field of the body here."""
    if not model.strip("."):
        raise ModelRefused(f"{model!r} is not a valid model name.", 400)
    del request.body["stream"]
    request.body["anthropic_version"] = BEDROCK_VERSIONS.get(options.version, options.version)
    for name, value in options.headers.items():
        if name.lower() == "anthropic-beta":
            request.body.setdefault("anthropic_beta", value.get_secret_value().split(","))
    return f"/model/{quote(model, safe=':')}/invoke-with-response-stream"
