import logging
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from rightseat.core.ask import ANYONE, Principal
from rightseat.core.errors import RightseatError
from rightseat.faces._shared.handlers import make_handler
from rightseat.faces._shared.responses import BodyTooLarge


def refuse(error: RightseatError) -> Response:
    return PlainTextResponse(f"{error.code}: {error.message}", error.status)


async def handle(raised: Exception | None, method: str = "GET", body: bytes = b"") -> Response:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def answer(read: bytes, request: Request, principal: Principal) -> Response:
        if raised is not None:
            raise raised
        return Response(read)

    headers = [(b"content-type", b"application/json")]
    scope: dict[str, Any] = {"type": "http", "method": method, "path": "/v1/x", "query_string": b"", "headers": headers}
    return await make_handler(answer, 10, refuse)(Request(scope, receive), ANYONE)


async def test_an_unexpected_error_is_logged_and_refused_with_the_id_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = await handle(KeyError("secret"))

    assert answer.status_code == 500
    assert b"secret" not in bytes(answer.body)
    (record,) = caplog.records
    id, text = record.getMessage().split(": ")
    assert text == "GET /v1/x failed"
    assert id.encode() in bytes(answer.body)


async def test_an_error_of_ours_is_refused_in_the_form_of_the_face() -> None:
    answer = await handle(None, "POST", b'"more than ten"')

    assert answer.status_code == 413
    assert bytes(answer.body).decode() == f"body_too_large: {BodyTooLarge(10).message}"


async def test_a_client_that_is_gone_gets_no_error() -> None:
    assert (await handle(ClientDisconnect())).status_code == 200


@pytest.mark.parametrize(("method", "read"), [("GET", b""), ("HEAD", b""), ("POST", b"[1]")])
async def test_the_body_of_a_get_is_not_read(method: str, read: bytes) -> None:
    assert (await handle(None, method, b"[1]")).body == read
