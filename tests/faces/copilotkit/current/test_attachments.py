"""What people attach to a message, and recordings that become text."""

import base64
import json
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from rightseat.core.messages import File, Image, Text
from rightseat.models.openai import OpenAI, Options
from rightseat.testing import ScriptedModel, says
from tests import tcp
from tests.conftest import Serve
from tests.faces.copilotkit.current.serving import BASE, app, asking, read, text_of, visiting
from tests.faces.copilotkit.serving import Way, runtime

RUN = "/agent/default/run"
SOUND = b"\x1aE\xdf\xa3 a sound"


def part(kind: str, media_type: str, name: str) -> dict[str, Any]:
    source = {"type": "data", "value": "AAAA", "mimeType": media_type}
    return {"type": kind, "source": source, "metadata": {"filename": name}}


ATTACHED = [
    {"type": "text", "text": "What are these?"},
    part("image", "image/png", "a.png"),
    part("audio", "audio/wav", "b.wav"),
    part("document", "application/pdf", "c.pdf"),
    part("video", "video/mp4", "d.mp4"),
]


def attaching(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return asking(messages=[{"id": "u", "role": "user", "content": parts}])


async def test_attachments_reach_the_model_and_stay_in_the_thread_as_they_were(serve: Serve) -> None:
    model = ScriptedModel([says("Four things")])

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        frames = read((await client.post(RUN, json=attaching(ATTACHED))).content)
        messages = (await client.get("/threads/t-1/messages")).json()["messages"]
        history = read((await client.post("/agent/default/connect", json=asking(None))).content)

    assert model.prompts[0].messages[0].parts == (
        Text("What are these?"),
        Image("image/png", "AAAA", name="a.png"),
        File("audio", "audio/wav", "AAAA", name="b.wav"),
        File("document", "application/pdf", "AAAA", name="c.pdf"),
        File("video", "video/mp4", "AAAA", name="d.mp4"),
    )
    for kept in (messages[0], frames[0].data["input"]["messages"][0], history[0].data["input"]["messages"][0]):
        assert kept["content"] == ATTACHED


async def test_a_model_of_openais_protocol_gets_the_supported_parts_and_a_note_about_the_others(serve: Serve) -> None:
    answer = b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

    async with (
        tcp.playing(tcp.answers(head + tcp.chunked(answer))) as server,
        OpenAI(Options(model="m", api_key=SecretStr("sk"), base_url=server.url)) as model,
        serve(app(runtime(model))) as url,
        visiting(url) as client,
    ):
        frames = read((await client.post(RUN, json=attaching(ATTACHED))).content)

    assert text_of(frames) == "Hi"
    assert server.requests[0].json["messages"][0]["content"] == [
        {"type": "text", "text": "What are these?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "file", "file": {"filename": "c.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        {"type": "text", "text": "[An attachment could not be passed on: video d.mp4]"},
    ]


async def test_an_attachment_that_is_too_large_is_refused_in_words(serve: Serve, way: Way) -> None:
    """All of it is read and dropped first: a browser that is cut off while it sends shows no reason."""
    large = attaching([part("image", "image/png", "a.png") | {"source": {"type": "data", "value": "A" * 6 * 2**20}}])

    async with serve(app(runtime(), way, max_body_mb=1)) as url, visiting(url) as client:
        answer = await client.post(RUN, json=large)
        after = await client.post(RUN, json=asking())

    assert answer.status_code == 413
    assert answer.json() == {
        "error": "body_too_large",
        "message": "The request is too large: the limit is 1 MB.",
        "code": "body_too_large",
    }
    assert text_of(read(after.content)) == "Hello"


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ({"type": "hologram"}, "(type 'hologram')"),
        ({"type": "image"}, "content[0] cannot be understood"),
        ({"type": "image", "source": {"type": "data", "value": "AAAA"}}, "content[0].source"),
        ({"type": "text"}, "content[0] cannot be understood"),
        ("text", "content[0] cannot be understood"),
    ],
)
async def test_an_attachment_that_cannot_be_understood_is_named(serve: Serve, broken: Any, problem: str) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.post(RUN, json=attaching([broken]))

    assert answer.status_code == 400
    assert problem in answer.json()["message"]


# Recordings


def heard(status: int = 200, body: bytes = b'{"text": "Good morning"}') -> tcp.Script:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return tcp.answers(head.encode() + body)


@pytest.fixture
async def hearing() -> AsyncIterator[tcp.Server]:
    async with tcp.playing(heard()) as server:
        yield server


def at(url: str) -> dict[str, Any]:
    return {"base_url": url + "/v1", "api_key": "sk-secret", "model": "whisper-2"}


def form(kind: str = "audio/webm;codecs=opus", name: str = "a.webm", field: str = "audio") -> Any:
    return {field: (name, SOUND, kind)}


async def test_a_recording_in_a_form_becomes_text(serve: Serve, way: Way, hearing: tcp.Server) -> None:
    async with serve(app(runtime(), way, transcription=at(hearing.url))) as url, visiting(url) as client:
        info = await client.get(url + BASE + "/info")
        answer = await client.post(url + BASE + "/transcribe", files=form())

    assert info.json()["audioFileTranscriptionEnabled"] is True
    assert answer.json() == {"text": "Good morning", "size": len(SOUND), "type": "audio/webm;codecs=opus"}
    (request,) = hearing.requests
    assert request.line == "POST /v1/audio/transcriptions HTTP/1.1"
    assert request.header("authorization") == "Bearer sk-secret"
    boundary = (request.header("content-type") or "").removeprefix("multipart/form-data; boundary=").encode()
    assert request.body == (
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="a.webm"\r\n'
        b"Content-Type: audio/webm;codecs=opus\r\n\r\n%b\r\n"
        b'--%b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-2\r\n--%b--\r\n'
    ) % (boundary, SOUND, boundary, boundary)


@pytest.mark.parametrize("prefix", ["", "data:audio/webm;base64,"])
async def test_a_recording_in_json_becomes_text(serve: Serve, hearing: tcp.Server, prefix: str) -> None:
    recording = {"audio": prefix + base64.b64encode(SOUND).decode(), "mimeType": "audio/webm", "filename": "a.webm"}

    async with serve(app(runtime(), transcription=at(hearing.url))) as url, visiting(url) as client:
        by_path = await client.post(url + BASE + "/transcribe", json=recording)
        by_envelope = await client.post(url + BASE, json={"method": "transcribe", "body": recording})

    assert by_path.json() == by_envelope.json() == {"text": "Good morning", "size": len(SOUND), "type": "audio/webm"}
    assert SOUND in hearing.requests[0].body


@pytest.mark.parametrize("kind", ["application/octet-stream", ""])
async def test_a_recording_of_no_kind_is_what_browsers_record(serve: Serve, hearing: tcp.Server, kind: str) -> None:
    async with serve(app(runtime(), transcription=at(hearing.url))) as url, visiting(url) as client:
        recording = {"audio": "AAAA", "mimeType": kind}
        answer = await client.post(url + BASE + "/transcribe", json=recording)

    assert answer.json()["type"] == "audio/webm"


async def test_the_name_of_a_recording_cannot_become_another_header(serve: Serve, hearing: tcp.Server) -> None:
    evil = '"\r\nContent-Type: text/html\r\n\r\n<ä>\\'
    recording = {"audio": "AAAA", "mimeType": f"audio/webm;{evil}", "filename": f"a{evil}.webm"}

    async with serve(app(runtime(), transcription=at(hearing.url))) as url, visiting(url) as client:
        await client.post(url + BASE + "/transcribe", json=recording)

    head = hearing.requests[0].body.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    assert head == [
        b'Content-Disposition: form-data; name="file"; filename="aContent-Type: text/html<>.webm"',
        b"Content-Type: audio/webm;Content-Type: text/html<>",
    ]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a video": ({"json": {"audio": "AAAA", "mimeType": "video/mp4"}}, "invalid_audio_format"),
    "a video in a form": ({"files": form("video/mp4")}, "invalid_audio_format"),
    "nothing": ({"json": {}}, "invalid_request"),
    "no base64": ({"json": {"audio": "%%%"}}, "invalid_request"),
    "no ASCII": ({"json": {"audio": "ä"}}, "invalid_request"),
    "silence": ({"json": {"audio": ""}}, "audio_too_short"),
    "another field": ({"files": form(field="sound")}, "invalid_request"),
    "a text": ({"data": {"audio": "text"}, "files": form(field="sound")}, "invalid_request"),
    "no form": (
        {"content": b"nope", "headers": {"content-type": "multipart/form-data; boundary=x"}},
        "invalid_request",
    ),
    "no boundary": ({"content": b"nope", "headers": {"content-type": "multipart/form-data"}}, "invalid_request"),
    "a form that is cut": (
        {
            "content": b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a"\r\n\r\nsound',
            "headers": {"content-type": "multipart/form-data; boundary=x"},
        },
        "invalid_request",
    ),
}


@pytest.mark.parametrize(("request_", "code"), REFUSED.values(), ids=REFUSED)
async def test_a_file_that_is_no_recording_is_refused_and_not_forwarded(
    serve: Serve, way: Way, hearing: tcp.Server, caplog: pytest.LogCaptureFixture, request_: dict[str, Any], code: str
) -> None:
    async with serve(app(runtime(), way, transcription=at(hearing.url))) as url, visiting(url) as client:
        answer = await client.post(url + BASE + "/transcribe", **request_)

    assert answer.status_code == 400
    assert (answer.json()["error"], answer.json()["retryable"]) == (code, False)
    assert answer.json()["message"]
    assert hearing.requests == []
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    ("script", "status", "code", "retryable"),
    [
        (heard(401, b'{"error": {"message": "sk-secret is wrong"}}'), 502, "auth_failed", False),
        (heard(429, b"{}"), 429, "rate_limited", True),
        (heard(500, b"<html>"), 502, "provider_error", True),
        (heard(400, b"{}"), 502, "provider_error", False),
        (heard(200, b"<html>"), 502, "provider_error", True),
        (heard(200, b"{}"), 502, "provider_error", True),
    ],
)
async def test_a_server_that_cannot_transcribe_is_reported_without_its_own_text(
    serve: Serve, script: tcp.Script, status: int, code: str, retryable: bool
) -> None:
    async with (
        tcp.playing(script) as server,
        serve(app(runtime(), transcription=at(server.url))) as url,
        visiting(url) as client,
    ):
        answer = await client.post(url + BASE + "/transcribe", files=form())

    assert answer.status_code == status
    assert (answer.json()["error"], answer.json()["retryable"]) == (code, retryable)
    assert "secret" not in answer.text


async def test_an_unreachable_server_is_reported(serve: Serve) -> None:
    async with tcp.playing(heard()) as server:
        gone = server.url

    async with serve(app(runtime(), transcription=at(gone))) as url, visiting(url) as client:
        answer = await client.post(url + BASE + "/transcribe", files=form())

    assert answer.status_code == 502
    assert answer.json() == {
        "error": "network_error",
        "message": "The transcription server cannot be reached.",
        "retryable": True,
    }


async def test_without_a_server_there_is_no_microphone(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        info = await client.get(url + BASE + "/info")
        answer = await client.post(url + BASE + "/transcribe", content=json.dumps({"audio": "AAAA"}), headers=JSON)

    assert info.json()["audioFileTranscriptionEnabled"] is False
    assert (answer.status_code, answer.json()["error"]) == (503, "service_not_configured")
    assert answer.json()["retryable"] is False


JSON = {"content-type": "application/json"}
