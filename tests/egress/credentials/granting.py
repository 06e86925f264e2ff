"""A token endpoint on a real socket."""

import json
from collections.abc import Callable
from urllib.parse import parse_qsl

from tests.models.recorded import refusal
from tests.tcp import Request, Script, Visit

Respond = Callable[[Request], bytes]


def token(value: str, lasts: object = 3599) -> bytes:
    body = json.dumps({"token_type": "Bearer", "expires_in": lasts, "access_token": value})
    return refusal("200 OK", body)


def numbered(lasts: object = 3599) -> Respond:
    """`token-1`, `token-2`, …"""
    given: list[str] = []

    def respond(_: Request) -> bytes:
        given.append(f"token-{len(given) + 1}")
        return token(given[-1], lasts)

    return respond


def giving(respond: Respond) -> Script:
    async def script(visit: Visit) -> None:
        while True:
            await visit.send(respond(await visit.request()))

    return script


def form(request: Request) -> dict[str, str]:
    assert request.header("content-type") == "application/x-www-form-urlencoded"
    return dict(parse_qsl(request.body.decode(), strict_parsing=True))
