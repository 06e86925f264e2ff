"""A request to the operator face, and the checks that keep pages of other origins out."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from rightseat.access import credentials
from rightseat.core.ask import Principal
from rightseat.core.errors import BadRequest, OriginNotAllowed
from rightseat.faces._shared.responses import decode_body, is_json, read_content_type
from rightseat.operations.rights import Operator, OperatorRights

T = TypeVar("T")

SAME_ORIGIN = (None, "same-origin", "none")
"""`Sec-Fetch-Site` of our own pages, of addresses that a person typed, and of clients that are no browsers."""
MARK = "x-rightseat"
"""A header for requests that change something and have neither a key nor a body of JSON."""


@dataclass(frozen=True, slots=True)
class OperatorRequest:
    operator: Operator
    body: bytes
    http: Request

    @property
    def principal(self) -> Principal:
        return self.operator.principal

    @property
    def rights(self) -> OperatorRights:
        """Those that the credential has for the data of other users."""
        return self.operator.rights

    def id(self, name: str) -> str:
        """An id in the path."""
        found: str = self.http.path_params[name]
        return found

    def read(self, kind: type[T]) -> T:
        """Decode the body as JSON; an empty body is an empty object. Raises `BadRequest`."""
        return decode_body(self.body, kind)


Operation = Callable[[OperatorRequest], Awaitable[Response]]
Routes = Mapping[tuple[str, str], Operation]
"""(method, path) → operation."""


def check_same_origin(request: Request) -> None:
    """Raises `OriginNotAllowed`. Browsers send the cookie of a session also for pages of sister domains."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    is_foreign = origin is not None and origin.partition("://")[2] != request.headers.get("host")
    if site not in SAME_ORIGIN or (site is None and is_foreign):
        raise OriginNotAllowed("Only the console of this server may call its operator API.")
    if request.method != "GET" and not needs_preflight(request.headers):
        raise BadRequest(
            "Send requests that change something with a key in `Authorization`, with `Content-Type: application/json`, "
            f"or with the header `{MARK}: 1`. Pages of other origins can send none of them without a preflight."
        )


def needs_preflight(headers: Headers) -> bool:
    """Whether a browser asks this server before it sends the request for a page of another origin; the answer is no.

    Browsers that send neither `Origin` nor `Sec-Fetch-Site` with a form know no other requests without a preflight than
    those with forms, plain text and headers that every page may set.
    """
    return MARK in headers or credentials.is_given(headers) or is_json(read_content_type(headers))
