"""One session with an MCP server.

The SDK's client has to be left by the task that entered it, so each session has a task that holds it open; whoever uses
the session does so from their own.
"""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import advertise
from mcp.client.session import ClientSession, ElicitationFnT, IncomingMessage
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation, ToolListChangedNotification

from rightseat.core.cancelling import is_cancelled, to_the_end
from rightseat.core.errors import AgentUnreachable
from rightseat.egress.network import NetworkOptions, find_proxy, make_tls
from rightseat.toolboxes.mcp.settings import Settings

logger = logging.getLogger(__name__)

APPS = "io.modelcontextprotocol/ui"
PAGE = "text/html;profile=mcp-app"


class Connection:
    """A session. `uses` counts those who use it at this moment, `listing` is for whoever remembers what it offers."""

    def __init__(self, settings: Settings, headers: Mapping[str, str], answer: ElicitationFnT) -> None:
        self.uses = 0
        self.listing: Any = None
        self._settings = settings
        self._headers = headers
        self._answer = answer
        self._leave = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._holder: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self.is_forgotten = False
        """The server no longer knows the session: it was started anew, say. It did nothing of what was asked last."""

    @property
    def session(self) -> ClientSession:
        return self._client.result().session

    @property
    def is_open(self) -> bool:
        return self._client.done() and self._holder is not None and not self._holder.done() and not self._leave.is_set()

    @property
    def never_connected(self) -> bool:
        """Did it end because no connection came about, so that what was asked last was never sent?"""
        return isinstance(self._failure, httpx2.ConnectError | httpx2.ConnectTimeout)

    async def open(self) -> None:
        """Raises `AgentUnreachable`."""
        within = self._settings.discover_within
        self._holder = asyncio.create_task(self._hold())
        try:
            await asyncio.wait((self._holder, self._client), timeout=within, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await to_the_end(self.close())
            raise
        if self._client.done():
            return
        late = not self._holder.done()
        await self.close()
        raise unreachable(self._settings, f"it did not answer within {within:g} s" if late else said(self._failure))

    async def close(self) -> None:
        self._leave.set()
        if self._holder is None:
            return
        if not self._client.done():
            self._holder.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait((self._holder,))

    def leave(self) -> None:
        """It is of no more use; it is closed behind the caller's back."""
        self._leave.set()

    async def ended(self) -> None:
        """Wait for the session to be over, where a request says that it is."""
        if self._holder is not None:
            self._leave.set()
            await asyncio.wait((self._holder,))

    async def _hold(self) -> None:
        try:
            async with (
                transport(self._settings, self._headers, self._leave, self._look) as streams,
                Client(
                    streams,
                    client_info=Implementation(name="rightseat", version=version("rightseat")),
                    elicitation_callback=self._answer,
                    message_handler=self._hear,
                    extensions=[advertise(APPS, {"mimeTypes": [PAGE]})] if self._settings.apps else None,
                    cache=None,
                ) as client,
            ):
                self._client.set_result(client)
                await self._leave.wait()
        except BaseException as error:
            self._failure = first(error)
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            if self._client.done():
                logger.info("The session with %s ended: %s", self._settings.where, said(self._failure))
        finally:
            self._leave.set()

    async def _look(self, response: httpx2.Response) -> None:
        """What servers say of a session that they do not know differs; the status does not."""
        self.is_forgotten |= response.status_code == 404 and "mcp-session-id" in response.request.headers

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.listing = None


@asynccontextmanager
async def transport(
    settings: Settings,
    headers: Mapping[str, str],
    over: asyncio.Event,
    look: Callable[[httpx2.Response], Awaitable[None]],
) -> AsyncIterator[Any]:
    """A transport that sets `over` when the server hangs up, and has every response looked at."""
    async with AsyncExitStack() as stack:
        if settings.url is None:
            program = StdioServerParameters(
                command=settings.command or "", args=list(settings.args), env=dict(settings.env)
            )
            streams = stdio_client(program, sys.__stderr__ or sys.stderr)
        else:
            client = httpx2.AsyncClient(
                headers=dict(headers),
                timeout=httpx2.Timeout(None, connect=min(settings.discover_within, 10.0)),
                event_hooks={"response": [look]},
                trust_env=False,
                proxy=find_client_proxy(settings.url, settings.network),
                verify=make_tls(settings.network),
            )
            await stack.enter_async_context(client)
            streams = streamable_http_client(settings.url, http_client=client)
        yield Watched(streams, over)


def find_client_proxy(url: str, network: NetworkOptions | None) -> httpx2.Proxy | None:
    """By the same rule as for all other parts: the SDK's client would read more of the environment than that."""
    proxy = find_proxy(urlsplit(url), network)
    if proxy is None:
        return None
    return httpx2.Proxy(proxy.url, headers={"proxy-authorization": proxy.authorization} if proxy.authorization else {})


class Watched:
    """A transport whose end is noticed even while nobody asks anything."""

    def __init__(self, streams: Any, over: asyncio.Event) -> None:
        self._streams = streams
        self._over = over

    async def __aenter__(self) -> Any:
        read, write = await self._streams.__aenter__()
        return Reading(read, self._over), write

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return await self._streams.__aexit__(kind, error, trace)


class Reading:
    """What the server says, up to the end."""

    def __init__(self, stream: Any, over: asyncio.Event) -> None:
        self._stream = stream
        self._over = over

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except (StopAsyncIteration, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._over.set()
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return await self._stream.__aexit__(kind, error, trace)


def unreachable(settings: Settings, why: str) -> AgentUnreachable:
    """The client learns which server it is; where that is and what it said is for the operator's log."""
    logger.warning("The MCP server %r (%s) cannot be relied on: %s", settings.name, settings.where, why)
    return AgentUnreachable(f"The MCP server {settings.name!r} cannot be reached.")


def first(error: BaseException) -> BaseException:
    """The cause within groups of errors, which say nothing themselves."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def said(error: BaseException | None) -> str:
    if isinstance(error, MCPError):
        return " ".join(error.message.split())[:500]
    return f"{type(error).__name__}: {error}" if error is not None and str(error) else type(error).__name__
