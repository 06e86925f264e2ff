"""Speech to text, through a server that offers OpenAI's `/audio/transcriptions`."""

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from pydantic import ConfigDict, SecretStr

from rightseat.core.values import JSON_ERRORS
from rightseat.egress.client import Client, Unreachable
from rightseat.egress.network import NetworkOptions

logger = logging.getLogger(__name__)

KINDS = ("mpeg", "mp3", "mp4", "wav", "webm", "ogg", "flac", "aac")
UNSAID = ("", "application/octet-stream")
"""Kinds that say nothing. What a browser records is webm."""


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True)
    base_url: str
    """Where `/audio/transcriptions` is found."""
    api_key: SecretStr | None = None
    model: str = "whisper-1"


class Unheard(Exception):
    """Why there is no text, in the words of CopilotKit's clients: `kind` is one of their codes."""

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
        """Raises `Unheard` where there is nothing in it, or it is no sound."""
        if not data:
            raise Unheard("audio_too_short", "The recording is empty.")
        return cls(data, checked(kind), name)


class Transcriber:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._boundary = uuid.uuid4().hex
        headers = {"content-type": f"multipart/form-data; boundary={self._boundary}"}
        if options.api_key:
            headers["authorization"] = f"Bearer {options.api_key.get_secret_value()}"
        self._client = Client(options.base_url, headers, timeout=60, network=options)

    async def text_of(self, recording: Recording, fields: Mapping[str, str] | None = None) -> str:
        """`fields` are sent along. Raises `Unheard`."""
        body = form(recording, {"model": self._options.model, **(fields or {})}, self._boundary)
        try:
            async with self._client.post("/audio/transcriptions", body) as heard:
                said = await heard.text(most=2**20, within=60.0)
        except Unreachable as error:
            logger.warning("%s: %s", self._options.base_url, error)
            message = "The transcription server cannot be reached."
            raise Unheard("network_error", message, 502, retryable=True) from error
        finally:
            await self._client.aclose()  # recordings are rare: no connection is kept for the next
        if heard.status != 200:
            logger.warning("%s answered %d: %s", self._options.base_url, heard.status, said[:500])
            raise refused(heard.status)
        return read_text(said)


def refused(status: int) -> Unheard:
    """What the server said is for the log: it may hold more than the person should see."""
    if status in (401, 403):
        return Unheard("auth_failed", "The transcription server does not accept our key.", 502)
    if status == 429:
        return Unheard("rate_limited", "The transcription server is busy. Try again later.", 429, retryable=True)
    return Unheard("provider_error", "The recording could not be transcribed.", 502, retryable=status >= 500)


def checked(kind: str) -> str:
    family, _, name = kind.partition(";")[0].strip().lower().partition("/")
    if kind.lower() in UNSAID:
        return "audio/webm"
    if family != "audio" or name not in KINDS:
        supported = ", ".join(f"audio/{one}" for one in KINDS)
        raise Unheard("invalid_audio_format", f"Unsupported audio format: {kind}. Supported: {supported}.")
    return kind


def form(recording: Recording, fields: Mapping[str, str], boundary: str) -> bytes:
    """A form with the recording and what is said of it."""
    named = f'Content-Disposition: form-data; name="file"; filename="{safe(recording.name)}"'
    head = f"--{boundary}\r\n{named}\r\nContent-Type: {safe(recording.kind)}\r\n\r\n"
    tail = "".join(
        f'\r\n--{boundary}\r\nContent-Disposition: form-data; name="{safe(name)}"\r\n\r\n{value}'
        for name, value in fields.items()
    )
    return head.encode() + recording.data + tail.encode() + f"\r\n--{boundary}--\r\n".encode()


def safe(text: str) -> str:
    """Without what would end the value, or the line, of a header."""
    return "".join(character for character in text if " " <= character <= "~" and character not in '"\\')


class Heard(msgspec.Struct):
    text: str


def read_text(said: str) -> str:
    try:
        return msgspec.json.decode(said, type=Heard).text
    except JSON_ERRORS as error:
        message = "The transcription server's answer cannot be read."
        raise Unheard("provider_error", message, 502, retryable=True) from error
