"""Answers that every face gives: JSON bodies, and bodies that are read with a limit."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.errors import BadAsk

encode = msgspec.json.Encoder().encode

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What reading JSON raises: it is malformed or of another shape, not UTF-8, or nested too deep."""

SURROGATES = re.compile(rb"\\u[dD](?:[89abAB]..(?:\\u[dD][c-fC-F]..)?|[c-fC-F]..)", re.DOTALL)
BACKSLASH = rb"\\"


class BodyTooLarge(BadAsk):
    code = "body_too_large"
    status = 413

    def __init__(self, most: int) -> None:
        super().__init__(f"The request is too large: at most {most / 2**20:g} MB are taken.")


def answer(
    body: Any, status: int = 200, content_type: str = "application/json", headers: Mapping[str, str] | None = None
) -> Response:
    return Response(encode(body), status, headers, media_type=content_type)


async def read_body(request: Request, most: int) -> bytes:
    """The whole body, if it is no larger than `most` bytes; it is not kept in the request."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise BodyTooLarge(most)
        pieces.append(piece)
    return b"".join(pieces)


def mended(body: bytes) -> bytes:
    """JavaScript writes half a character (of an emoji, where a text was cut) as an escape that no other JSON has."""
    if rb"\ud" not in body and rb"\uD" not in body:
        return body
    pieces = body.split(BACKSLASH)  # an escaped one begins no escape
    return BACKSLASH.join([SURROGATES.sub(whole, piece) for piece in pieces])


def whole(escape: re.Match[bytes]) -> bytes:
    """A pair as it is; a half as the character that stands for what cannot be read."""
    return rb"\ufffd" if len(escape[0]) == 6 else escape[0]
