"""What goes wrong: a status and OpenAI's error object while that is possible, an event in the stream after that."""

import asyncio
import json
from typing import Any

import httpx2
import openai
import pytest

from rightseat.core.ask import Ask
from rightseat.core.errors import (
    BadRequest,
    ContextTooLong,
    ModelBusy,
    ModelError,
    ModelLoading,
    ModelRefused,
    ModelRefusedKey,
    ModelUnreachable,
    RightseatError,
    SchemaNotSupported,
)
from rightseat.core.hooks import Hooks
from rightseat.core.model import NoteChunk, StopChunk, TextChunk
from rightseat.testing import ScriptedModel, ScriptedResponse, says
from tests.conftest import Serve
from tests.faces.openai.serving import HI, Prompted, app, chunks, post, runtime, sdk, visiting

FAILURES: list[tuple[Exception, int, str, str]] = [
    (SchemaNotSupported("The tool 'x' has `not`."), 400, "invalid_request_error", "schema_not_supported"),
    (ContextTooLong("It is too long.", 400), 400, "invalid_request_error", "context_length_exceeded"),
    (ModelBusy("It is busy."), 429, "rate_limit_error", "model_busy"),
    (ModelLoading("Half of it."), 503, "server_error", "model_loading"),
    (ModelRefused("No.", 404), 502, "server_error", "model_refused"),
    (ModelRefusedKey("No key."), 502, "server_error", "model_refused_key"),
    (ModelUnreachable("Nobody there."), 502, "server_error", "model_unreachable"),
    (BadRequest("What?"), 400, "invalid_request_error", "bad_request"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("error", "status", "type", "code"), FAILURES, ids=[one[3] for one in FAILURES])
async def test_a_run_that_fails_at_once_is_a_status(
    serve: Serve, error: Exception, status: int, type: str, code: str, stream: bool
) -> None:
    async with serve(app(runtime([error]))) as url:
        answer = await post(url, stream=stream)

    told = {"message": str(error), "type": type, "param": None, "code": code}
    assert (answer.status_code, answer.json()) == (status, {"error": told})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers.get("x-should-retry") == ("false" if code.startswith("model_refused") else None)
    assert answer.headers.get("retry-after") == ("3" if code == "model_loading" else None)


@pytest.mark.parametrize("stream", [False, True])
async def test_an_internal_error_reveals_no_details(serve: Serve, stream: bool) -> None:
    async with serve(app(runtime([ValueError("secret")]))) as url:
        answer = await post(url, stream=stream)

    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.json()["error"]["code"] == "internal_error"


@pytest.mark.parametrize("stream", [False, True])
async def test_warnings_come_with_a_failure(serve: Serve, stream: bool) -> None:
    said: ScriptedResponse = [NoteChunk("warning", "The tool 'x' was left out."), SchemaNotSupported("None is left.")]
    async with serve(app(runtime(said))) as url:
        answer = await post(url, stream=stream)

    assert answer.status_code == 400
    assert answer.json()["warnings"] == ["The tool 'x' was left out."]


async def test_a_failure_in_the_middle_of_a_stream_is_its_last_event(serve: Serve) -> None:
    async with serve(app(runtime([TextChunk("Hel"), ModelUnreachable("It broke off.")]))) as url:
        answer = await post(url, stream=True)

    *_, last, rest = answer.text.split("\n\n")
    assert answer.status_code == 200
    assert '"content":"Hel"' in answer.text
    assert "[DONE]" not in answer.text
    assert rest == ""
    assert json.loads(last.removeprefix("data: "))["error"] == {
        "message": "It broke off.",
        "type": "server_error",
        "param": None,
        "code": "model_unreachable",
    }


async def test_openais_own_client_raises_a_failure_in_the_middle_of_a_stream(serve: Serve) -> None:
    said: list[str | None] = []

    async def read(stream: openai.AsyncStream[Any]) -> None:
        async for chunk in stream:
            said.append(chunk.choices[0].delta.content)  # noqa: PERF401  # what came before the error is wanted too

    async with serve(app(runtime([TextChunk("Hel"), ModelUnreachable("It broke off.")]))) as url, sdk(url) as client:
        stream = await client.chat.completions.create(model="bare", messages=HI, stream=True)
        with pytest.raises(openai.APIError, match=r"It broke off\."):
            await read(stream)

    assert said == ["", "Hel"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (SchemaNotSupported("No."), openai.BadRequestError),
        (ModelBusy("Busy."), openai.RateLimitError),
        (ModelLoading("Soon."), openai.InternalServerError),
    ],
)
async def test_openais_own_client_raises_a_failure_at_once_as_its_kind(
    serve: Serve, error: ModelError, kind: type[openai.APIStatusError]
) -> None:
    async with serve(app(runtime([error]))) as url, sdk(url) as client:
        with pytest.raises(kind, match=error.message):
            await client.chat.completions.create(model="bare", messages=HI, stream=True)


async def test_a_head_waits_no_longer_than_a_proxy_does(serve: Serve) -> None:
    model = Prompted()
    body = {"model": "bare", "messages": HI, "stream": True}
    async with (
        serve(app(runtime(model), keep_alive=0.02)) as url,
        asyncio.timeout(30),
        visiting(url) as client,
        client.stream("POST", "/chat/completions", json=body) as answer,
    ):
        pieces = answer.aiter_bytes()
        first = await anext(pieces)
        await model.pieces.put(ModelUnreachable("Too late."))
        rest = b"".join([piece async for piece in pieces])

    assert answer.status_code == 200
    assert first.startswith(b": keep-alive\n\n")
    assert b'"message":"Too late."' in rest
    assert b"[DONE]" not in rest


async def test_a_stream_that_was_kept_alive_is_read_by_openais_own_client(serve: Serve) -> None:
    model = Prompted()
    async with serve(app(runtime(model), keep_alive=0.02)) as url, sdk(url) as client, asyncio.timeout(30):
        stream = await client.chat.completions.create(model="bare", messages=HI, stream=True)
        for piece in (TextChunk("Hi"), StopChunk("stop")):
            await model.pieces.put(piece)
        said = await anext(stream), await anext(stream)

    assert [chunk.choices[0].delta.content for chunk in said] == ["", "Hi"]


@pytest.mark.parametrize("stream", [False, True])
async def test_the_error_of_a_before_request_hook_is_returned(serve: Serve, stream: bool) -> None:
    class NotToday(RightseatError):
        code = "not_today"
        status = 403

    async def refuse(ask: Ask) -> None:
        raise NotToday("Come back tomorrow.")

    async with serve(app(runtime(hooks=Hooks(before_request=[refuse])))) as url:
        answer = await post(url, stream=stream)

    assert answer.status_code == 403
    assert answer.json()["error"]["message"] == "Come back tomorrow."
    assert answer.json()["error"]["code"] == "not_today"


# Warnings


async def test_a_warning_is_in_the_head_and_in_the_body(serve: Serve) -> None:
    said: ScriptedResponse = [NoteChunk("warning", "“x” was left out."), *says("Hi")]
    async with serve(app(runtime(said))) as url:
        whole, streamed = await post(url), await post(url, stream=True)

    assert whole.json()["warnings"] == ["“x” was left out."]
    for answer in (whole, streamed):
        assert json.loads(answer.headers["x-rightseat-warnings"]) == ["“x” was left out."]
    assert chunks(streamed.content)[-1]["warnings"] == ["“x” was left out."]


async def test_a_warning_that_comes_late_is_in_the_last_chunk(serve: Serve) -> None:
    model = Prompted()
    body = {"model": "bare", "messages": HI, "stream": True}
    async with serve(app(runtime(model))) as url, visiting(url) as client, asyncio.timeout(30):
        model.pieces.put_nowait(TextChunk("Hi"))
        async with client.stream("POST", "/chat/completions", json=body) as answer:
            pieces = answer.aiter_bytes()
            first = await anext(pieces)
            for piece in (NoteChunk("warning", "It was long."), StopChunk("length"), None):
                model.pieces.put_nowait(piece)
            rest = b"".join([piece async for piece in pieces])

    assert "x-rightseat-warnings" not in answer.headers
    assert chunks(first + rest)[-1]["warnings"] == ["It was long."]


async def test_warnings_that_do_not_fit_the_header_are_sent_in_the_body(serve: Serve) -> None:
    said: list[Any] = [*(NoteChunk("warning", f"{number}: " + "x" * 500) for number in range(20)), *says("Hi")]
    async with serve(app(runtime(said))) as url:
        answer = await post(url)

    in_head = json.loads(answer.headers["x-rightseat-warnings"])
    assert len(answer.headers["x-rightseat-warnings"]) < 4000
    assert in_head[-1] == "15 more in the body"
    assert len(answer.json()["warnings"]) == 20


async def test_the_model_is_asked_once_whatever_goes_wrong(serve: Serve) -> None:
    model = ScriptedModel([[ModelUnreachable("Down.")]])
    async with serve(app(runtime(model))) as url:
        await post(url)

    assert len(model.prompts) == 1


async def test_the_sdk_shows_why_a_path_is_not_served(serve: Serve) -> None:
    async with serve(app(runtime())) as url, sdk(url) as client:
        with pytest.raises(openai.NotFoundError) as completions:
            await client.completions.create(model="bare", prompt="Hi")
        with pytest.raises(openai.NotFoundError) as images:
            await client.images.generate(prompt="A cat")

    assert completions.value.body == {
        "message": "The legacy completions API is not served. Use chat completions: POST /v1/chat/completions.",
        "type": "not_found_error",
        "param": None,
        "code": "not_found",
    }
    assert (
        "/v1/images/generations is not served. Below /v1 there are /responses, /chat/completions,"
        in images.value.message
    )


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/v1", 404, "/v1 is the base URL of an OpenAI-compatible API, for clients such as OpenAI(base_url=…)."),
        ("/v1/chat/completions", 405, "/v1/chat/completions does not support GET."),
        (
            "/v1/responses",
            405,
            "/v1/responses does not support GET. Responses are created by POST, and streamed with `stream: true`. "
            "There is no WebSocket.",
        ),
    ],
)
async def test_a_get_that_is_not_served_is_answered_in_the_same_form(
    serve: Serve, path: str, status: int, message: str
) -> None:
    async with serve(app(runtime())) as url, httpx2.AsyncClient(base_url=url) as client:
        answer = await client.get(path)

    assert (answer.status_code, answer.json()["error"]["message"]) == (status, message)


async def test_what_the_responses_api_of_openai_has_beside_is_refused_by_name(serve: Serve) -> None:
    async with serve(app(runtime())) as url, sdk(url) as client:
        with pytest.raises(openai.APIStatusError) as compacted:
            await client.responses.compact(model="default", input="Hello")
        with pytest.raises(openai.APIStatusError) as counted:
            await client.responses.input_tokens.count(model="default", input="Hello")

    assert "Compaction of a conversation is not served." in compacted.value.message
    assert "`usage` of a response has their number." in counted.value.message
    assert (compacted.value.status_code, counted.value.status_code) == (405, 405)
