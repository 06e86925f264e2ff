"""Answers that every face gives, and the one way in which all of them read the body of a request.

A body is JSON, is sent as JSON, and has bounds: a web page of another origin cannot send JSON without asking first.
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.errors import BadAsk
from rightseat.core.values import JSON_ERRORS
from rightseat.wire.json_depth import MAX_JSON_DEPTH, find_too_deep, is_within_depth

encode = msgspec.json.Encoder().encode

SURROGATES = re.compile(rb"\\u[dD](?:[89abAB]..(?:\\u[dD][c-fC-F]..)?|[c-fC-F]..)", re.DOTALL)
LARGE_BODY_BYTES = 2**20  # below it, the check of its depth takes less than 4 ms
FORM = "multipart/form-data"
BACKSLASH = rb"\\"


class BodyTooLarge(BadAsk):
    code = "body_too_large"
    status = 413

    def __init__(self, most: int) -> None:
        super().__init__(f"The request is too large: at most {most / 2**20:g} MB are taken.")


class NotJson(BadAsk):
    code = "not_json"
    status = 415

    def __init__(self) -> None:
        super().__init__("Send the request as application/json.")


class JsonTooDeep(BadAsk):
    code = "json_too_deep"

    def __init__(self, place: str = "") -> None:
        where = f" Too deep: {place}." if place else ""
        super().__init__(f"The JSON is nested too deeply: at most {MAX_JSON_DEPTH} levels are read.{where}")


def answer(
    body: Any, status: int = 200, content_type: str = "application/json", headers: Mapping[str, str] | None = None
) -> Response:
    return Response(encode(body), status, headers, media_type=content_type)


async def read_body(request: Request, most: int, *, forms: bool = False) -> bytes:
    """The whole body; it is not kept in the request. Without a body, the content type may be left out.

    Raises `NotJson`, `BodyTooLarge` (more than `most` bytes), `JsonTooDeep`, or `BadAsk` where brackets do not match.
    With `forms` it may be a form as well.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_form = forms and kind == FORM
    if kind and not (is_json(kind) or is_form):
        raise NotJson
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise BodyTooLarge(most)
        pieces.append(piece)
    body = b"".join(pieces)
    if body and not kind:
        raise NotJson
    if not is_form:
        await check_depth(body)
    return body


def is_json(kind: str) -> bool:
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


async def check_depth(body: bytes) -> None:
    """Raises `JsonTooDeep`, or `BadAsk` where brackets or quotes do not match."""
    if len(body) <= LARGE_BODY_BYTES:
        is_fine = is_within_depth(body)
    else:
        is_fine = await asyncio.to_thread(is_within_depth, body)  # without the interpreter's lock
    if not is_fine:
        raise reason_not_to_read(body)


def reason_not_to_read(body: bytes) -> BadAsk:
    """Of a large body, only that it is too deep: to say where takes too long."""
    try:
        if len(body) > LARGE_BODY_BYTES:
            msgspec.json.decode(body, type=msgspec.Raw)
            return JsonTooDeep()
        return JsonTooDeep(find_too_deep(msgspec.json.decode(body)))
    except RecursionError:
        return JsonTooDeep()
    except JSON_ERRORS as error:
        return BadAsk(f"The body cannot be read ({error}).")


def mended(body: bytes) -> bytes:
    """JavaScript writes half a character (of an emoji, where a text was cut) as an escape that no other JSON has."""
    if rb"\ud" not in body and rb"\uD" not in body:
        return body
    pieces = body.split(BACKSLASH)  # an escaped one begins no escape
    return BACKSLASH.join([SURROGATES.sub(whole, piece) for piece in pieces])


def whole(escape: re.Match[bytes]) -> bytes:
    """A pair as it is; a half as the character that stands for what cannot be read."""
    return rb"\ufffd" if len(escape[0]) == 6 else escape[0]
