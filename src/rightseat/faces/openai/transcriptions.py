"""The transcription endpoint, forwarded to the configured transcription server."""

from collections.abc import AsyncGenerator, Mapping

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rightseat.core.ask import Principal
from rightseat.core.runtime import Runtime
from rightseat.egress.transcription import Options, Recording, Transcriber, TranscriptionFailed
from rightseat.faces._shared.responses import json_response
from rightseat.faces.openai.errors import ErrorResponse, InvalidRequest

FORWARDED_FIELDS = ("language", "prompt", "temperature")
KNOWN_FIELDS = ("file", "model", "response_format", *FORWARDED_FIELDS)
NAME = "transcription"  # its name in messages of guards, and the agent that limits count
MISSING = "Transcription is not configured: set `transcription` of this face."


class Transcriptions:
    """The model is the configured one, whatever the client requests."""

    def __init__(self, options: Options | None, runtime: Runtime) -> None:
        self._texts = runtime.text_guard
        self._admission = runtime.admission
        self._transcriber = Transcriber(options) if options else None

    async def transcribe(self, body: bytes, http: Request, principal: Principal) -> Response:
        if self._transcriber is None:
            return ErrorResponse(MISSING, 404, "not_configured").response()
        data, kind, name, fields = await read_form(body, http)
        form = fields.pop("response_format", "json")
        if form not in ("json", "text"):
            raise InvalidRequest("`response_format` must be 'json' or 'text'.", "response_format", "unsupported_value")
        try:
            recording = Recording.of(data, kind_of(kind, name), name)
            async with self._admission.admit_request(principal, NAME, "transcriptions"):
                await self._texts.check_input([name, *fields.values()], NAME, principal)
                text = await self._transcriber.transcribe(recording, fields)
                await self._texts.check_input([text], NAME, principal)
                await self._texts.check_output(text, NAME, principal)
        except TranscriptionFailed as error:
            return ErrorResponse(
                str(error), error.status, error.kind, "file" if error.status == 400 else None
            ).response()
        return json_response({"text": text}) if form == "json" else PlainTextResponse(text)


def kind_of(kind: str, name: str) -> str:
    """OpenAI's own client sends only the file name."""
    ending = name.rpartition(".")[2].lower()
    known = {"mp3": "mpeg", "mpga": "mpeg", "m4a": "mp4", "oga": "ogg"}
    if kind in ("", "application/octet-stream") and ending != name.lower():
        return f"audio/{known.get(ending, ending)}"
    return kind


async def read_form(body: bytes, http: Request) -> tuple[bytes, str, str, dict[str, str]]:
    """The recording, its media type, its name, and the other fields."""

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield body

    if not http.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise InvalidRequest("Send the recording as multipart/form-data.")
    if not body.rstrip().endswith(b"--"):
        raise InvalidRequest("The form is incomplete.")
    try:
        form = await MultiPartParser(http.headers, pieces()).parse()
    except MultiPartException as error:
        raise InvalidRequest(f"The form is not valid ({error.message})") from error
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidRequest("Send the recording in the field `file`.", "file")
        fields = read_fields({name: value for name, value in form.items() if isinstance(value, str)})
        return await file.read(), file.content_type or "", file.filename or "audio.webm", fields
    finally:
        await form.close()


def read_fields(given: Mapping[str, str]) -> dict[str, str]:
    for name in given:
        if name not in KNOWN_FIELDS:
            raise InvalidRequest(f"The field {name[:100]!r} is not supported.", name[:100], "unsupported_parameter")
    return {name: value for name, value in given.items() if name != "model"}
