"""Recordings as CopilotKit's clients send them, in a form or as JSON → text."""

import base64
from collections.abc import AsyncGenerator

import msgspec
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response

from rightseat.core.admitting import Texts
from rightseat.core.errors import BadAsk, Denied, GuardFailed
from rightseat.egress.transcription import Options, Recording, Transcriber, Unheard
from rightseat.faces.answers import answer
from rightseat.faces.copilotkit.current.routing import Call, Routes

NAME = "transcription"  # what it is called where its guards say what they denied


class Given(msgspec.Struct):
    audio: str
    mimeType: str = "audio/webm"
    filename: str = "audio.webm"


class Transcribing:
    def __init__(self, options: Options | None, texts: Texts) -> None:
        self._texts = texts
        self._transcriber = Transcriber(options) if options else None

    def routes(self) -> Routes:
        return {("POST", "transcribe"): self.transcribe}

    async def transcribe(self, call: Call) -> Response:
        try:
            recording = await read_recording(call)
            if self._transcriber is None:
                raise Unheard("service_not_configured", "This server has no transcription configured.", 503)
            await self._texts.admit([recording.name], NAME, call.principal)
            text = await self._transcriber.text_of(recording)
            await self._texts.admit([text], NAME, call.principal)
            await self._texts.show(text, NAME, call.principal)
        except Denied as denied:
            return answer({"error": "invalid_request", "message": denied.message, "retryable": False}, denied.status)
        except GuardFailed as failed:
            return answer({"error": "provider_error", "message": failed.message, "retryable": True}, failed.status)
        except Unheard as error:
            told = {"error": error.kind, "message": str(error), "retryable": error.retryable}
            return answer(told, error.status)
        return answer({"text": text, "size": len(recording.data), "type": recording.kind})


async def read_recording(call: Call) -> Recording:
    is_form = call.request.headers.get("content-type", "").lower().startswith("multipart/form-data")
    return Recording.of(*(await read_form(call) if is_form else read_json(call)))


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
        given = call.read(Given)
        data = given.audio.rpartition(",")[2]  # a data URL will do
        return base64.b64decode(data, validate=True), given.mimeType, given.filename
    except (BadAsk, ValueError) as error:
        raise Unheard("invalid_request", f"Send the recording as base64 in `audio` ({error}).") from error
