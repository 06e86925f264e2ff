"""JSON responses, and reading request bodies and query parameters with limits, for all faces.

Bodies must be declared as JSON: a web page of another origin cannot send that without a CORS preflight.
"""

import asyncio
import re
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.errors import BadRequest
from rightseat.core.types import JSON_ERRORS
from rightseat.faces._shared.pieces_response import PiecesResponse
from rightseat.limits.read_limits import pace_body, receive_bytes
from rightseat.wire.json_depth import MAX_JSON_DEPTH, find_too_deep, is_within_depth
from rightseat.wire.json_pieces import encode_pieces, is_large
from rightseat.wire.json_size import FEW_CONTAINERS, FEW_VALUES, PIECE_BYTES, ValueCounter, count_brackets

T = TypeVar("T")

encode = msgspec.json.Encoder().encode

SURROGATES = re.compile(rb"\\u[dD](?:[89abAB]..(?:\\u[dD][c-fC-F]..)?|[c-fC-F]..)", re.DOTALL)
LARGE_BODY_BYTES = 2**20  # below this, checking the depth takes less than 4 ms
MAX_CONTAINERS = 10_000
"""Objects and arrays in one body: a fifth of a second of the event loop. A long conversation has some thousand."""
MAX_VALUES = 200_000
"""Texts, numbers and keys in one body: decoding takes 30 ms and up to 15 MB."""
VALUES_PER_CONTAINER = 20
"""That many take the event loop about as long as an object."""
BYTES_PER_CONTAINER = 1024
"""That many bytes of text take the event loop about as long as an object around them."""
DECODE_PLACE = re.compile(r" - at `(?:key in )?\$\.?(.*)`$")
FORM = "multipart/form-data"
BACKSLASH = rb"\\"


class BodyTooLarge(BadRequest):
    code = "body_too_large"
    status = 413

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The request is too large: the limit is {max_bytes / 2**20:g} MB.")


class NotJson(BadRequest):
    code = "not_json"
    status = 415

    def __init__(self) -> None:
        super().__init__("Send the request as application/json.")


class JsonTooDeep(BadRequest):
    code = "json_too_deep"

    def __init__(self, place: str = "") -> None:
        where = f" Too deep: {place}." if place else ""
        super().__init__(f"The JSON is nested too deeply: the limit is {MAX_JSON_DEPTH} levels.{where}")


class JsonTooLarge(BadRequest):
    code = "json_too_large"
    status = 413

    def __init__(self, excess: str) -> None:
        super().__init__(
            f"The request has more than {excess}. Send fewer messages, tools or items, or rows of data as text."
        )


def json_response(
    body: Any, status: int = 200, content_type: str = "application/json", headers: Mapping[str, str] | None = None
) -> Response:
    """A large body is encoded while it is sent, so it must not change."""
    if is_large(body):
        return PiecesResponse(encode_pieces(body), status, headers, content_type)
    return Response(encode(body), status, headers, media_type=content_type)


def decode_body(body: bytes, kind: type[T]) -> T:
    """Decode a body as JSON; an empty one is an empty object. Raises `BadRequest`."""
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except JSON_ERRORS as error:
        raise BadRequest(f"The body is not valid: {error}.") from error


def describe_decode_error(error: Exception) -> tuple[str, str | None]:
    """msgspec's text, such as `Expected `array`, got `str` - at `$.messages``, as a message and the path in it."""
    place = DECODE_PLACE.search(str(error))
    if place is None:
        return f"The body is not valid: {str(error) or 'it is nested too deeply'}.", None
    what = DECODE_PLACE.sub("", str(error)).replace("`", "")
    where = place[1]
    return f"{where or 'The body'}: {what[:1].lower()}{what[1:]}.", where or None


def read_number(query: Mapping[str, str], name: str, default: int) -> int:
    """A number in the query. Raises `BadRequest`."""
    text = query.get(name)
    if text is None:
        return default
    if not re.fullmatch("[0-9]{1,9}", text):
        raise BadRequest(f"{name} is {text[:20]!r}; it must be a number.")
    return int(text)


async def read_body(request: Request, max_bytes: int, *, allow_forms: bool = False) -> bytes:
    """The complete body; it is not cached in the request. A request without a body needs no content type.

    Raises `NotJson`, `BodyTooLarge` (over `max_bytes`), `JsonTooLarge`, `TooManyLargeRequests`, `JsonTooDeep`
    or `BadRequest` for unbalanced brackets. With `allow_forms` it may be multipart/form-data.
    """
    kind = read_content_type(request.headers)
    is_form = allow_forms and kind == FORM
    if kind and not (is_json(kind) or is_form):
        raise NotJson
    body = await receive_body(request, max_bytes)
    if body and not kind:
        raise NotJson
    if not is_form:
        await check_depth(body)
        await check_size(body)
    return body


def read_content_type(headers: Headers) -> str:
    """The media type of the body, without parameters; empty without one."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


async def receive_body(request: Request, max_bytes: int) -> bytes:
    """Raises `BodyTooLarge`, `TooManyBodies`, or `ClientDisconnect` if the client leaves before the end of the body.

    A dependency of the application may have read the body before. Then the request has it, and `receive` would wait for
    the client to disconnect.
    """
    pieces, size = [], 0
    async with aclosing(request.stream()) as stream:
        async for piece in stream:
            size += len(piece)
            if size > max_bytes:
                raise BodyTooLarge(max_bytes)
            receive_bytes(len(piece))
            pieces.append(piece)
    return b"".join(pieces)


def is_json(kind: str) -> bool:
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))


async def check_size(body: bytes) -> None:
    """Wait for the turn of a body with many values. Raises `JsonTooLarge` and `TooManyLargeRequests`."""
    containers, values = await count_values(body)
    if containers > MAX_CONTAINERS:
        raise JsonTooLarge(f"{MAX_CONTAINERS:,} JSON objects and arrays")
    if values > MAX_VALUES:
        raise JsonTooLarge(f"{MAX_VALUES:,} JSON values")
    await pace_body(containers + values // VALUES_PER_CONTAINER + len(body) // BYTES_PER_CONTAINER)


async def count_values(body: bytes) -> tuple[int, int]:
    """The containers, and all values. Ends soon after `MAX_CONTAINERS` or `MAX_VALUES`.

    Not in a thread, for which the event loop would wait 5 ms again and again. Where even the brackets and commas in
    strings are few, they are not told apart: an ordinary body takes 2 us.
    """
    containers = count_brackets(body)
    if containers <= FEW_CONTAINERS and (values := containers + body.count(b",")) <= FEW_VALUES:
        return containers, values
    counter = ValueCounter()
    for start in range(0, len(body), PIECE_BYTES):
        counter.feed(body[start : start + PIECE_BYTES])
        if counter.containers > MAX_CONTAINERS or counter.values > MAX_VALUES:
            break
        await asyncio.sleep(0)
    return counter.containers, counter.values


async def check_depth(body: bytes) -> None:
    """Raises `JsonTooDeep`, or `BadRequest` for unbalanced brackets or quotes."""
    if len(body) <= LARGE_BODY_BYTES:
        is_fine = is_within_depth(body)
    else:
        is_fine = await asyncio.to_thread(is_within_depth, body)  # releases the GIL
    if not is_fine:
        raise explain_invalid_body(body)


def explain_invalid_body(body: bytes) -> BadRequest:
    """For a large body without the position: finding it takes too long."""
    try:
        if len(body) > LARGE_BODY_BYTES:
            msgspec.json.decode(body, type=msgspec.Raw)
            return JsonTooDeep()
        return JsonTooDeep(find_too_deep(msgspec.json.decode(body)))
    except RecursionError:
        return JsonTooDeep()
    except JSON_ERRORS as error:
        return BadRequest(f"The body is not valid ({error}).")


def repair_surrogates(body: bytes) -> bytes:
    """Replaces lone surrogates, which JavaScript writes where it cuts an emoji and which are invalid JSON elsewhere."""
    if rb"\ud" not in body and rb"\uD" not in body:
        return body
    pieces = body.split(BACKSLASH)  # an escaped backslash starts no escape
    return BACKSLASH.join([SURROGATES.sub(repair_escape, piece) for piece in pieces])


def repair_escape(escape: re.Match[bytes]) -> bytes:
    """Keeps a surrogate pair; a lone surrogate becomes U+FFFD."""
    return rb"\ufffd" if len(escape[0]) == 6 else escape[0]
