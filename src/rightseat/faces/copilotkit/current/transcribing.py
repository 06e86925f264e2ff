"""Speech to text, through a server that offers OpenAI's `/audio/transcriptions`."""

import base64
import logging
import uuid
from collections.abc import AsyncGenerator

import msgspec
from pydantic import BaseModel, ConfigDict, SecretStr
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response

from rightseat.core.errors import BadAsk
from rightseat.egress.http import Pool, Unreachable
from rightseat.faces.answers import answer
from rightseat.faces.copilotkit.current.routing import Call, Routes

logger = logging.getLogger(__name__)

KINDS = ("mpeg", "mp3", "mp4", "wav", "webm", "ogg", "flac", "aac")
UNSAID = ("", "application/octet-stream")
"""Kinds that say nothing. What a browser records is webm."""


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    base_url: str
    """Where `/audio/transcriptions` is found."""
    api_key: SecretStr | None = None
    model: str = "whisper-1"


class Recording(msgspec.Struct):
    audio: str
    mimeType: str = "audio/webm"
    filename: str = "audio.webm"


class Unheard(Exception):
    """Why there is no text, in the words of CopilotKit's clients: `kind` is one of their codes."""

    def __init__(self, kind: str, message: str, status: int = 400, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retryable = retryable


class Transcribing:
    def __init__(self, options: Options | None) -> None:
        self._options = options
        self._boundary = uuid.uuid4().hex
        headers = {"content-type": f"multipart/form-data; boundary={self._boundary}"}
        if options and options.api_key:
            headers["authorization"] = f"Bearer {options.api_key.get_secret_value()}"
        self._pool = Pool(options.base_url, headers, patience=60) if options else None

    def routes(self) -> Routes:
        return {("POST", "transcribe"): self.transcribe}

    async def transcribe(self, call: Call) -> Response:
        try:
            data, kind, name = await read_recording(call)
            text = await self._heard(data, kind, name)
        except Unheard as error:
            told = {"error": error.kind, "message": str(error), "retryable": error.retryable}
            return answer(told, error.status)
        return answer({"text": text, "size": len(data), "type": kind})

    async def _heard(self, data: bytes, kind: str, name: str) -> str:
        if self._pool is None or self._options is None:
            raise Unheard("service_not_configured", "This server has no transcription configured.", 503)
        body = form(data, kind, name, self._options.model, self._boundary)
        try:
            async with self._pool.post("/audio/transcriptions", body) as heard:
                said = await heard.text(most=2**20)
        except Unreachable as error:
            logger.warning("%s: %s", self._options.base_url, error)
            message = "The transcription server cannot be reached."
            raise Unheard("network_error", message, 502, retryable=True) from error
        finally:
            await self._pool.aclose()  # recordings are rare: no connection is kept for the next
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


async def read_recording(call: Call) -> tuple[bytes, str, str]:
    """The bytes, what kind they are, and the file's name."""
    is_form = call.request.headers.get("content-type", "").lower().startswith("multipart/form-data")
    data, kind, name = await read_form(call) if is_form else read_json(call)
    if not data:
        raise Unheard("audio_too_short", "The recording is empty.")
    return data, checked(kind), name


async def read_form(call: Call) -> tuple[bytes, str, str]:
    async def body() -> AsyncGenerator[bytes, None]:
        yield call.body

    if not call.body.rstrip().endswith(b"--"):
        raise Unheard("invalid_request", "The form has no end.")
    try:
        fields = await MultiPartParser(call.request.headers, body()).parse()
    except MultiPartException as error:
        raise Unheard("invalid_request", f"The form cannot be read ({error.message})") from error
    try:
        audio = fields.get("audio")
        if not isinstance(audio, UploadFile):
            raise Unheard("invalid_request", "Send the recording in the field `audio`.")
        return await audio.read(), audio.content_type or "", audio.filename or "audio.webm"
    finally:
        await fields.close()


def read_json(call: Call) -> tuple[bytes, str, str]:
    try:
        given = call.read(Recording)
        data = given.audio.rpartition(",")[2]  # a data URL will do
        return base64.b64decode(data, validate=True), given.mimeType, given.filename
    except (BadAsk, ValueError) as error:
        raise Unheard("invalid_request", f"Send the recording as base64 in `audio` ({error}).") from error


def checked(kind: str) -> str:
    family, _, name = kind.partition(";")[0].strip().lower().partition("/")
    if kind.lower() in UNSAID:
        return "audio/webm"
    if family != "audio" or name not in KINDS:
        supported = ", ".join(f"audio/{one}" for one in KINDS)
        raise Unheard("invalid_audio_format", f"Unsupported audio format: {kind}. Supported: {supported}.")
    return kind


def form(data: bytes, kind: str, name: str, model: str, boundary: str) -> bytes:
    """A form with the recording and the model's name."""
    named = f'Content-Disposition: form-data; name="file"; filename="{safe(name)}"'
    head = f"--{boundary}\r\n{named}\r\nContent-Type: {safe(kind)}\r\n\r\n"
    tail = f'\r\n--{boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n{model}\r\n--{boundary}--\r\n'
    return head.encode() + data + tail.encode()


def safe(text: str) -> str:
    """Without what would end the value, or the line, of a header."""
    return "".join(character for character in text if " " <= character <= "~" and character not in '"\\')


class Heard(msgspec.Struct):
    text: str


def read_text(said: str) -> str:
    try:
        return msgspec.json.decode(said, type=Heard).text
    except msgspec.DecodeError as error:
        message = "The transcription server's answer cannot be read."
        raise Unheard("provider_error", message, 502, retryable=True) from error
