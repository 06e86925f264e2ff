"""Transcribes audio through a server with OpenAI's `/audio/transcriptions` API."""

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic import ConfigDict, SecretStr

from rightseat.core.types import JSON_ERRORS
from rightseat.egress.network import NetworkOptions
from rightseat.limits.estimate import estimate_tokens
from rightseat.limits.metered_calls import reserve_call
from rightseat.limits.single_call import TokenCounts

if TYPE_CHECKING:
    from rightseat.egress.client import Client
    from rightseat.egress.transport import TransportError

logger = logging.getLogger(__name__)

AUDIO_FORMATS = ("mpeg", "mp3", "mp4", "wav", "webm", "ogg", "flac", "aac")
AUDIO_BYTES_PER_TOKEN = 400  # a second is 10 tokens at OpenAI, and 4,000 bytes as browsers record speech
UNSPECIFIED_TYPES = ("", "application/octet-stream")
"""Content types that do not name a format. Browsers record webm."""


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True)
    base_url: str
    """The URL that `/audio/transcriptions` is appended to."""
    api_key: SecretStr | None = None
    model: str = "whisper-1"


class TranscriptionFailed(Exception):
    """`kind` is one of the error codes of CopilotKit's clients."""

    def __init__(self, kind: str, message: str, status: int = 400, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class Recording:
    data: bytes
    kind: str
    name: str

    @classmethod
    def of(cls, data: bytes, kind: str, name: str) -> "Recording":
        """Raises `TranscriptionFailed` if the recording is empty or not audio."""
        if not data:
            raise TranscriptionFailed("audio_too_short", "The recording is empty.")
        return cls(data, check_media_type(kind), name)


class Transcriber:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._boundary = uuid.uuid4().hex
        headers = {"content-type": f"multipart/form-data; boundary={self._boundary}"}
        if options.api_key:
            headers["authorization"] = f"Bearer {options.api_key.get_secret_value()}"
        self._client: Client = import_here("client").Client(options.base_url, headers, timeout=60, network=options)
        self._failure: type[TransportError] = import_here("transport").TransportError

    async def transcribe(self, recording: Recording, fields: Mapping[str, str] | None = None) -> str:
        """`fields` are added to the form. Raises `TranscriptionFailed`, or a `LimitExceeded` of a budget."""
        tokens = -(-len(recording.data) // AUDIO_BYTES_PER_TOKEN)
        reserved, estimated, model = TokenCounts(tokens, tokens), TokenCounts(tokens), self._options.model
        async with reserve_call(model, model, reserved, estimated, "transcriptions") as call:
            response = await self._send(recording, fields or {})
            call.reported = response.tokens
            call.estimated = TokenCounts(tokens, estimate_tokens(response.text))
        return response.text

    async def _send(self, recording: Recording, fields: Mapping[str, str]) -> "TranscriptionResponse":
        body = write_form(recording, {"model": self._options.model, **fields}, self._boundary)
        try:
            async with self._client.post("/audio/transcriptions", body) as response:
                text = await response.text(max_bytes=2**20, timeout=60.0)
        except self._failure as error:
            logger.warning("%s: %s", self._options.base_url, error)
            message = "The transcription server cannot be reached."
            raise TranscriptionFailed("network_error", message, 502, retryable=True) from error
        finally:
            await self._client.aclose()  # recordings are rare: no connection is kept open
        if response.status != 200:
            logger.warning("%s returned HTTP %d: %s", self._options.base_url, response.status, text[:500])
            raise explain_status(response.status)
        return read_response(text)


def import_here(name: str) -> Any:
    """A module of the client, imported by the first transcriber: aiohttp is large, and faces need the options only."""
    return import_module(f"rightseat.egress.{name}")


def explain_status(status: int) -> TranscriptionFailed:
    """The server's own text is only logged: it may hold more than the user should see."""
    if status in (401, 403):
        return TranscriptionFailed("auth_failed", "The transcription server rejected the API key.", 502)
    if status == 429:
        return TranscriptionFailed(
            "rate_limited", "The transcription server is busy. Try again later.", 429, retryable=True
        )
    return TranscriptionFailed(
        "provider_error", "The transcription server could not transcribe the recording.", 502, retryable=status >= 500
    )


def check_media_type(kind: str) -> str:
    family, _, name = kind.partition(";")[0].strip().lower().partition("/")
    if kind.lower() in UNSPECIFIED_TYPES:
        return "audio/webm"
    if family != "audio" or name not in AUDIO_FORMATS:
        supported = ", ".join(f"audio/{name}" for name in AUDIO_FORMATS)
        raise TranscriptionFailed("invalid_audio_format", f"Unsupported audio format: {kind}. Supported: {supported}.")
    return kind


def write_form(recording: Recording, fields: Mapping[str, str], boundary: str) -> bytes:
    disposition = f'Content-Disposition: form-data; name="file"; filename="{escape_header_value(recording.name)}"'
    head = f"--{boundary}\r\n{disposition}\r\nContent-Type: {escape_header_value(recording.kind)}\r\n\r\n"
    tail = "".join(
        f'\r\n--{boundary}\r\nContent-Disposition: form-data; name="{escape_header_value(name)}"\r\n\r\n{value}'
        for name, value in fields.items()
    )
    return head.encode() + recording.data + tail.encode() + f"\r\n--{boundary}--\r\n".encode()


def escape_header_value(text: str) -> str:
    """Removes characters that would end the value, or the line, of a header."""
    return "".join(character for character in text if " " <= character <= "~" and character not in '"\\')


class TranscriptionResponse(msgspec.Struct):
    """`usage` is in tokens or in seconds, by its `type`."""

    text: str
    usage: Any = None

    @property
    def tokens(self) -> TokenCounts | None:
        match self.usage:
            case {"input_tokens": int(input), "output_tokens": int(output)} if input > 0 and output >= 0:
                return TokenCounts(input, output)
        return None


def read_response(body: str) -> TranscriptionResponse:
    try:
        return msgspec.json.decode(body, type=TranscriptionResponse)
    except JSON_ERRORS as error:
        message = "The transcription server returned an invalid response."
        raise TranscriptionFailed("provider_error", message, 502, retryable=True) from error
