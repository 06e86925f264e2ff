"""Transcribes recordings that CopilotKit clients send as a form or as JSON."""

import base64
from collections.abc import AsyncGenerator

import msgspec
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.responses import Response

from rightseat.core.errors import BadRequest, GuardDenied, GuardFailed, LimitExceeded
from rightseat.core.runtime import Runtime
from rightseat.egress.transcription import Options, Recording, Transcriber, TranscriptionFailed
from rightseat.faces._shared.responses import json_response
from rightseat.faces.copilotkit.current.routing import OperationRequest, Routes

NAME = "transcription"  # its name in messages of guards, and the agent that limits count


class JsonRecording(msgspec.Struct):
    audio: str
    mimeType: str = "audio/webm"
    filename: str = "audio.webm"


class TranscriptionOperations:
    def __init__(self, options: Options | None, runtime: Runtime) -> None:
        self._texts = runtime.text_guard
        self._admission = runtime.admission
        self._transcriber = Transcriber(options) if options else None

    def routes(self) -> Routes:
        return {("POST", "transcribe"): self.transcribe}

    async def transcribe(self, request: OperationRequest) -> Response:
        try:
            recording = await read_recording(request)
            if self._transcriber is None:
                raise TranscriptionFailed("service_not_configured", "This server has no transcription configured.", 503)
            async with self._admission.admit_request(request.principal, NAME, "transcriptions"):
                await self._texts.check_input([recording.name], NAME, request.principal)
                text = await self._transcriber.transcribe(recording)
                await self._texts.check_input([text], NAME, request.principal)
                await self._texts.check_output(text, NAME, request.principal)
        except LimitExceeded as exceeded:
            body = {"error": "rate_limited", "message": exceeded.message, "retryable": exceeded.status == 429}
            return json_response(body, exceeded.status, headers={"retry-after": str(exceeded.retry_after)})
        except GuardDenied as denied:
            return json_response(
                {"error": "invalid_request", "message": denied.message, "retryable": False}, denied.status
            )
        except GuardFailed as failed:
            return json_response(
                {"error": "provider_error", "message": failed.message, "retryable": True}, failed.status
            )
        except TranscriptionFailed as error:
            body = {"error": error.kind, "message": str(error), "retryable": error.retryable}
            return json_response(body, error.status)
        return json_response({"text": text, "size": len(recording.data), "type": recording.kind})


async def read_recording(request: OperationRequest) -> Recording:
    is_form = request.http.headers.get("content-type", "").lower().startswith("multipart/form-data")
    return Recording.of(*(await read_form(request) if is_form else read_json(request)))


async def read_form(request: OperationRequest) -> tuple[bytes, str, str]:
    async def body() -> AsyncGenerator[bytes, None]:
        yield request.body

    if not request.body.rstrip().endswith(b"--"):
        raise TranscriptionFailed("invalid_request", "The form is incomplete.")
    try:
        fields = await MultiPartParser(request.http.headers, body()).parse()
    except MultiPartException as error:
        raise TranscriptionFailed("invalid_request", f"The form is not valid ({error.message})") from error
    try:
        audio = fields.get("audio")
        if not isinstance(audio, UploadFile):
            raise TranscriptionFailed("invalid_request", "Send the recording in the field `audio`.")
        return await audio.read(), audio.content_type or "", audio.filename or "audio.webm"
    finally:
        await fields.close()


def read_json(request: OperationRequest) -> tuple[bytes, str, str]:
    try:
        given = request.read(JsonRecording)
        data = given.audio.rpartition(",")[2]  # a data URL is accepted
        return base64.b64decode(data, validate=True), given.mimeType, given.filename
    except (BadRequest, ValueError) as error:
        raise TranscriptionFailed("invalid_request", f"Send the recording as base64 in `audio` ({error}).") from error
