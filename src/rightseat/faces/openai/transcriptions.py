"""Recordings → text, where the face is told of a server that hears."""

from collections.abc import AsyncGenerator, Mapping

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rightseat.core.admitting import Texts
from rightseat.core.ask import Principal
from rightseat.egress.transcription import Options, Recording, Transcriber, Unheard
from rightseat.faces.answers import answer
from rightseat.faces.openai.failures import BadRequest, Failure

PASSED_ON = ("language", "prompt", "temperature")
READ = ("file", "model", "response_format", *PASSED_ON)
NAME = "transcription"  # what it is called where its guards say what they denied
MISSING = "This server transcribes nothing: its operator can name a server for it, as `transcription` of this face."


class Transcriptions:
    """The model's name is the configuration's, whatever the client asks for."""

    def __init__(self, options: Options | None, texts: Texts) -> None:
        self._texts = texts
        self._transcriber = Transcriber(options) if options else None

    async def transcribe(self, body: bytes, http: Request, principal: Principal) -> Response:
        if self._transcriber is None:
            return Failure(MISSING, 404, "not_configured").response()
        data, kind, name, fields = await read_form(body, http)
        form = fields.pop("response_format", "json")
        if form not in ("json", "text"):
            raise BadRequest("`response_format` must be 'json' or 'text'.", "response_format", "unsupported_value")
        await self._texts.admit([name, *fields.values()], NAME, principal)
        try:
            text = await self._transcriber.text_of(Recording.of(data, kind_of(kind, name), name), fields)
        except Unheard as error:
            return Failure(str(error), error.status, error.kind, "file" if error.status == 400 else None).response()
        await self._texts.admit([text], NAME, principal)
        await self._texts.show(text, NAME, principal)
        return answer({"text": text}) if form == "json" else PlainTextResponse(text)


def kind_of(kind: str, name: str) -> str:
    """OpenAI's own client says only what the file is called."""
    ending = name.rpartition(".")[2].lower()
    known = {"mp3": "mpeg", "mpga": "mpeg", "m4a": "mp4", "oga": "ogg"}
    if kind in ("", "application/octet-stream") and ending != name.lower():
        return f"audio/{known.get(ending, ending)}"
    return kind


async def read_form(body: bytes, http: Request) -> tuple[bytes, str, str, dict[str, str]]:
    """The recording, what kind it is, its name, and what is said of it."""

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield body

    if not http.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise BadRequest("Send the recording as multipart/form-data.")
    if not body.rstrip().endswith(b"--"):
        raise BadRequest("The form has no end.")
    try:
        form = await MultiPartParser(http.headers, pieces()).parse()
    except MultiPartException as error:
        raise BadRequest(f"The form cannot be read ({error.message})") from error
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise BadRequest("Send the recording in the field `file`.", "file")
        fields = read_fields({name: value for name, value in form.items() if isinstance(value, str)})
        return await file.read(), file.content_type or "", file.filename or "audio.webm", fields
    finally:
        await form.close()


def read_fields(given: Mapping[str, str]) -> dict[str, str]:
    for name in given:
        if name not in READ:
            raise BadRequest(f"The field {name[:100]!r} is not known here.", name[:100], "unsupported_parameter")
    return {name: value for name, value in given.items() if name != "model"}
