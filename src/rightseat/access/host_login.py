"""Who calls a copilot that is part of another application: the application's own users, or this machine alone.

The application's function `authenticate` is a dependency of FastAPI, so it may have dependencies itself and tests may
replace them. Where it returns None the request is refused; where it raises, it is refused too.
"""

import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import Depends, FastAPI
from fastapi.exceptions import FastAPIError
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from rightseat.access.hosts import LOCAL_NAMES, normalize
from rightseat.access.origins import AllowedOrigins
from rightseat.access.scopes import AuthenticatedUser
from rightseat.config.urls import is_loopback
from rightseat.core.ask import Principal
from rightseat.core.errors import ConfigError, InsufficientScope, Unauthenticated

Authenticate = Callable[..., Awaitable[Principal | None]]
Solve = Callable[[Request], Coroutine[Any, Any, Response]]

logger = logging.getLogger(__name__)

MAX_CLAIMS_BYTES = 4096
MAX_ID_CHARS = 512
FOUND = "rightseat.host_principal"
"""The key of an ASGI scope with what `authenticate` has returned."""
TEST_CLIENTS = ("testclient",)
"""The client's address in Starlette's TestClient, which no socket can have."""
FORWARDED_HEADERS = (b"forwarded", b"via")
FORWARDED_PREFIX = b"x-forwarded-"
FIX = "Set `authenticate=` or `access=` of Copilot, or `allow_unauthenticated=True`."


class NotSignedIn(Unauthenticated):
    def __init__(self) -> None:
        super().__init__("Sign in to this application first.")


class OnlyThisMachine(InsufficientScope):
    code = "only_this_machine"

    def __init__(self, cause: str) -> None:
        super().__init__(f"Only programs on the machine of this server may call it: {cause}. {FIX}")


class HostLogin:
    """The login of the application around a copilot.

    Without `authenticate`, only this machine may call, unless `allows_everyone`: by a name of its own or one of
    `names`, and from its pages or those of `origins`. `principal` is the user of every request while a test sets it.
    """

    def __init__(self, authenticate: Authenticate | None = None, *, allows_everyone: bool = False) -> None:
        self._authenticate = None if authenticate is None else check_function(authenticate)
        self._allows_everyone = allows_everyone
        self._by_application: WeakKeyDictionary[FastAPI, Solve] = WeakKeyDictionary()
        self._solve = None if self._authenticate is None else build_solver(self._authenticate, None)
        self.principal: Principal | None = None
        self.names: tuple[str, ...] = ()
        self.origins: tuple[str, ...] = ()

    @property
    def has_users(self) -> bool:
        return self._authenticate is not None

    @property
    def is_only_local(self) -> bool:
        return self._authenticate is None and not self._allows_everyone

    async def find_user(self, request: Request) -> AuthenticatedUser | None:
        """The user of the application; None if the copilot does not know users. Raises `Unauthenticated`."""
        if self.principal is not None:
            return describe_user(self.principal)
        if self._authenticate is None:
            return None
        principal = await self._call(request, self._authenticate)
        if principal is None:
            raise NotSignedIn
        return describe_user(check_principal(principal))

    async def _call(self, request: Request, authenticate: Authenticate) -> object:
        application, solve = request.scope.get("app"), self._solve
        if isinstance(application, FastAPI):  # its `dependency_overrides` count
            solve = self._by_application.get(application)
            if solve is None:
                solve = self._by_application[application] = build_solver(authenticate, application)
        if solve is None:
            return None
        request.scope.pop(FOUND, None)
        await solve(request)
        found: object = request.scope.pop(FOUND, None)
        return found

    def check_local(self, request: Request, allowed: AllowedOrigins | None) -> None:
        """Raises `OnlyThisMachine`, where nothing says who may call.

        Web pages of others reach this machine too, with the browser of its user: by their own name that they resolve to
        127.0.0.1, or as another origin.
        """
        if self.principal is not None or not self.is_only_local:
            return
        scope = request.scope
        client = scope.get("client")
        address = str(client[0]) if client else ""
        if address not in TEST_CLIENTS and not is_loopback(address):
            raise OnlyThisMachine(f"this request came from {address or 'an unknown address'}")
        for name, _ in scope["headers"]:
            if name.lower() in FORWARDED_HEADERS or name.lower().startswith(FORWARDED_PREFIX):
                raise OnlyThisMachine("this request came through a proxy")
        if address not in TEST_CLIENTS and is_from_socket(scope) and not self._is_own_name(request.url.hostname or ""):
            raise OnlyThisMachine("this request named another host")
        origin = request.headers.get("origin")
        if origin is not None and not self._is_own_origin(origin, request, allowed):
            raise OnlyThisMachine("a web page of another origin sent this request")

    def _is_own_name(self, host: str) -> bool:
        return is_local_name(host) or "*" in self.names or normalize(host) in map(normalize, self.names)

    def _is_own_origin(self, origin: str, request: Request, allowed: AllowedOrigins | None) -> bool:
        host = origin.partition("://")[2]
        known = (*self.origins, *(allowed.origins if allowed is not None else ()))
        if host == request.headers.get("host") or origin in known or "*" in self.origins:
            return True
        return is_local_name(host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host)


def is_from_socket(scope: Scope) -> bool:
    """Whether the request came over the network; clients in this process, such as httpx's, have no port."""
    server = scope.get("server")
    return bool(server) and tuple(server or ())[1:] != (None,)


def is_local_name(host: str) -> bool:
    name = normalize(host)
    return name in LOCAL_NAMES or name.endswith(".localhost") or is_loopback(name)


def check_function(authenticate: Authenticate) -> Authenticate:
    """Raises `ConfigError` for what is no async function."""
    called = authenticate if inspect.isroutine(authenticate) else getattr(authenticate, "__call__", None)  # noqa: B004
    if not inspect.iscoroutinefunction(called):
        name = getattr(authenticate, "__name__", repr(authenticate))
        raise ConfigError(
            f"`authenticate` should be an async function that returns a `Principal` or None, not {name!r}. Write "
            "`async def authenticate(request: Request) -> Principal | None`."
        )
    parameters = list(inspect.signature(authenticate).parameters.values())
    if len(parameters) == 1 and parameters[0].annotation is inspect.Parameter.empty:
        return take_request(authenticate)
    return authenticate


def take_request(authenticate: Authenticate) -> Authenticate:
    """The same, for a function whose only parameter has no hint."""

    async def call(request: Request) -> Principal | None:
        return await authenticate(request)

    return call


def build_solver(authenticate: Authenticate, application: FastAPI | None) -> Solve:
    """The handler of a route whose only dependency is the function: it solves the dependencies for a request."""

    async def report(request: Request, principal: Annotated[Any, Depends(authenticate)]) -> Response:
        request.scope[FOUND] = principal
        return Response()

    try:
        route = APIRoute("/", report, dependency_overrides_provider=application, response_model=None)
    except (FastAPIError, NameError, TypeError, AssertionError) as error:
        raise ConfigError(f"`authenticate` cannot be a dependency of FastAPI: {error}") from error
    return route.get_route_handler()


def check_principal(principal: object) -> Principal:
    """Raises `ConfigError`: the request is then refused with 500."""
    if not isinstance(principal, Principal):
        raise ConfigError(f"`authenticate` should return a `Principal` or None, not {type(principal).__name__}.")
    id: object = principal.id  # of an application whose types are not checked
    if not isinstance(id, str) or not 0 < len(id) <= MAX_ID_CHARS:
        raise ConfigError(f"The id of a `Principal` should be a text of 1 to {MAX_ID_CHARS} characters.")
    scopes: Sequence[object] = principal.scopes
    if isinstance(scopes, str) or not all(isinstance(scope, str) for scope in scopes):
        raise ConfigError("The `scopes` of a `Principal` should be a list such as ['copilotkit:*'].")
    if principal.claims:
        try:
            size = len(json.dumps(dict(principal.claims), allow_nan=False).encode())
        except (TypeError, ValueError) as error:
            raise ConfigError(f"The `claims` of a `Principal` are stored as JSON: {error}.") from error
        if size > MAX_CLAIMS_BYTES:
            raise ConfigError(f"The `claims` of a `Principal` have {size:,} bytes; the limit is {MAX_CLAIMS_BYTES:,}.")
    return principal


def describe_user(principal: Principal) -> AuthenticatedUser:
    return AuthenticatedUser(
        principal.id, tuple(principal.scopes), "the login of the application", claims=principal.claims
    )
