"""What a request may do, as a value that can be checked again, and the work that ends when it does not hold.

A response that is sent for hours outlives the credential of its request. So the endpoint that authorized a request
(`authenticator.ProtectedEndpoint`) calls its handler and sends the response inside of a `Watch`: every stream passes
there, also one that a new route adds. A check that fails for any reason ends the work.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self, TypeVar

from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rightseat.access.scopes import AuthenticatedUser, read_rights
from rightseat.core.ask import Principal
from rightseat.core.errors import Unauthenticated
from rightseat.operations.rights import ALL_RIGHTS, OperatorRights

T = TypeVar("T")

logger = logging.getLogger(__name__)

CHECK_INTERVAL_S = 0.5
"""Servers hear of a revoked key or an ended session within two seconds. Work is to end within five."""
CHECKS_AT_ONCE = 200  # of at most 5 us each, before other tasks have their turn
AUTHORIZATION = "rightseat.authorization"
"""The key of an ASGI scope with the authorization of its request."""


class RightsChanged(Unauthenticated):
    def __init__(self) -> None:
        super().__init__("The rights of this credential have changed. Send the request again.")


@dataclass(frozen=True, slots=True, eq=False)
class Authorization:
    """`user` is None where requests need no credential. `check` raises if the work of the request has to end; None if
    it may go on whatever happens to the credential."""

    principal: Principal
    user: AuthenticatedUser | None = None
    check: Callable[[], None] | None = None

    @property
    def rights(self) -> OperatorRights:
        """All of them where requests need no credential."""
        return ALL_RIGHTS if self.user is None else read_rights(self.user.scopes)


class OpenRequests:
    """The requests in progress. One task checks all of their authorizations again, twice a second."""

    def __init__(self, check_interval: float = CHECK_INTERVAL_S) -> None:
        self._check_interval = check_interval
        self._open: set[Watch] = set()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._check_all())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    @contextmanager
    def keep(self, watch: "Watch") -> Iterator[None]:
        self._open.add(watch)
        try:
            yield
        finally:
            self._open.discard(watch)

    async def _check_all(self) -> None:
        while True:
            await asyncio.sleep(self._check_interval)
            for number, watch in enumerate(list(self._open)):
                watch.check()
                if number % CHECKS_AT_ONCE == CHECKS_AT_ONCE - 1:
                    await asyncio.sleep(0)


class AuthorizationEnded(Exception):
    """The work of a request has to end. `problem` is what a new request would get."""

    def __init__(self, problem: Unauthenticated) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Watch:
    """Cancels the work of a request when its authorization does not hold any more."""

    __slots__ = ("_check", "_deadline", "_open", "_problem")

    def __init__(self, check: Callable[[], None], open_requests: OpenRequests) -> None:
        self._check = check
        self._open = open_requests
        self._deadline: asyncio.Timeout | None = None
        self._problem: Unauthenticated | None = None

    async def do(self, work: Awaitable[T]) -> T:
        """Raises `AuthorizationEnded`."""
        try:
            async with asyncio.timeout(None) as self._deadline:
                with self._open.keep(self):
                    return await work
        except TimeoutError:
            if self._problem is None:
                raise
        raise AuthorizationEnded(self._problem)

    def check(self) -> None:
        try:
            self._check()
        except Unauthenticated as error:
            self._problem = error
        except Exception:
            logger.exception("an authorization cannot be checked, so its request ends")
            self._problem = Unauthenticated("The credential of this request cannot be checked. Send it again.")
        if self._problem is not None and self._deadline is not None:
            self._deadline.reschedule(asyncio.get_running_loop().time())


class WatchedResponse(Response):
    """Sends a response until its end, or until the authorization of its request ends.

    `refuse` makes the response for an end that comes before the head was sent.
    """

    def __init__(self, response: Response, watch: Watch, refuse: Callable[[Unauthenticated], Response]) -> None:
        self.status_code = response.status_code
        self.raw_headers = response.raw_headers
        self.body = getattr(response, "body", b"")
        self._response = response
        self._watch = watch
        self._refuse = refuse

    @property
    def background(self) -> BackgroundTask | None:
        return self._response.background

    @background.setter
    def background(self, task: BackgroundTask | None) -> None:
        self._response.background = task

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = SentHead(send)
        try:
            await self._watch.do(self._response(scope, receive, head.send))
        except AuthorizationEnded as end:
            logger.info("the response to a request ends: %s", end.problem)
            if not head.is_sent:
                await self._refuse(end.problem)(scope, receive, send)
            elif not head.has_length:  # an event stream: its client connects again, and is refused
                await send({"type": "http.response.body", "body": b""})


class SentHead:
    """Whether the head of a response was sent, and whether it says how long the body is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_sent = False
        self.has_length = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_sent = True
            self.has_length = any(name.lower() == b"content-length" for name, _ in message["headers"])
        await self._send(message)
