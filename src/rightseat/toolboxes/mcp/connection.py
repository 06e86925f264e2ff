"""One session with an MCP server.

The SDK's client must be closed by the task that opened it, so each session has its own task; callers use the session
from theirs.
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

from rightseat.concurrency import is_cancelled, run_to_completion
from rightseat.core.errors import AgentUnreachable
from rightseat.egress.network import NetworkOptions, find_proxy, make_tls
from rightseat.toolboxes.mcp.options import Options

logger = logging.getLogger(__name__)

APPS_EXTENSION = "io.modelcontextprotocol/ui"
APP_MEDIA_TYPE = "text/html;profile=mcp-app"


class Connection:
    """A session. `uses` counts the current callers, `listing` is the cached list of tools."""

    def __init__(self, options: Options, headers: Mapping[str, str], answer: ElicitationFnT) -> None:
        self.uses = 0
        self.listing: Any = None
        self._options = options
        self._headers = headers
        self._answer = answer
        self._closing = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self.is_forgotten = False
        """The server does not know the session, e.g. after a restart. It did not run the last request."""

    @property
    def session(self) -> ClientSession:
        return self._client.result().session

    @property
    def is_open(self) -> bool:
        return self._client.done() and self._task is not None and not self._task.done() and not self._closing.is_set()

    @property
    def never_connected(self) -> bool:
        """Whether it ended because the connection failed, so that the last request was never sent."""
        return isinstance(self._failure, httpx2.ConnectError | httpx2.ConnectTimeout)

    async def open(self) -> None:
        """Raise `AgentUnreachable`."""
        timeout = self._options.discovery_timeout
        self._task = asyncio.create_task(self._run())
        try:
            await asyncio.wait((self._task, self._client), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await run_to_completion(self.close())
            raise
        if self._client.done():
            return
        timed_out = not self._task.done()
        await self.close()
        raise unreachable(
            self._options, f"no response within {timeout:g} s" if timed_out else describe_error(self._failure)
        )

    async def close(self) -> None:
        self._closing.set()
        if self._task is None:
            return
        if not self._client.done():
            self._task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait((self._task,))

    def close_soon(self) -> None:
        """Close in the background."""
        self._closing.set()

    async def wait_closed(self) -> None:
        """Close, and wait for the end of the session."""
        if self._task is not None:
            self._closing.set()
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        try:
            async with (
                transport(self._options, self._headers, self._closing, self._check_response) as streams,
                Client(
                    streams,
                    client_info=Implementation(name="rightseat", version=version("rightseat")),
                    elicitation_callback=self._answer,
                    message_handler=self._on_message,
                    extensions=[advertise(APPS_EXTENSION, {"mimeTypes": [APP_MEDIA_TYPE]})]
                    if self._options.apps
                    else None,
                    cache=None,
                ) as client,
            ):
                self._client.set_result(client)
                await self._closing.wait()
        except BaseException as error:
            self._failure = first_cause(error)
            if isinstance(error, asyncio.CancelledError) and is_cancelled():
                raise
            if self._client.done():
                logger.info("The session with %s ended: %s", self._options.where, describe_error(self._failure))
        finally:
            self._closing.set()

    async def _check_response(self, response: httpx2.Response) -> None:
        """Detect an unknown session by the status 404, since error texts of servers differ."""
        self.is_forgotten |= response.status_code == 404 and "mcp-session-id" in response.request.headers

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.listing = None


@asynccontextmanager
async def transport(
    options: Options,
    headers: Mapping[str, str],
    closed: asyncio.Event,
    check_response: Callable[[httpx2.Response], Awaitable[None]],
) -> AsyncIterator[Any]:
    """A transport that sets `closed` when the server closes it, and passes every response to `check_response`."""
    async with AsyncExitStack() as stack:
        if options.url is None:
            program = StdioServerParameters(
                command=options.command or "", args=list(options.args), env=dict(options.plain_env)
            )
            streams = stdio_client(program, sys.__stderr__ or sys.stderr)
        else:
            client = httpx2.AsyncClient(
                headers=dict(headers),
                timeout=httpx2.Timeout(None, connect=min(options.discovery_timeout, 10.0)),
                event_hooks={"response": [check_response]},
                trust_env=False,
                proxy=find_client_proxy(options.url, options),
                verify=make_tls(options),
            )
            await stack.enter_async_context(client)
            streams = streamable_http_client(options.url, http_client=client)
        yield WatchedTransport(streams, closed)


def find_client_proxy(url: str, network: NetworkOptions | None) -> httpx2.Proxy | None:
    """The same rule as for all other parts; the SDK's client would read more environment variables."""
    proxy = find_proxy(urlsplit(url), network)
    if proxy is None:
        return None
    return httpx2.Proxy(proxy.url, headers={"proxy-authorization": proxy.authorization} if proxy.authorization else {})


class WatchedTransport:
    """A transport whose end is noticed even without a request."""

    def __init__(self, streams: Any, closed: asyncio.Event) -> None:
        self._streams = streams
        self._closed = closed

    async def __aenter__(self) -> Any:
        read, write = await self._streams.__aenter__()
        return WatchedReader(read, self._closed), write

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return await self._streams.__aexit__(kind, error, trace)


class WatchedReader:
    """The incoming stream; it sets `closed` at its end."""

    def __init__(self, stream: Any, closed: asyncio.Event) -> None:
        self._stream = stream
        self._closed = closed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except (StopAsyncIteration, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._closed.set()
            raise

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return await self._stream.__aexit__(kind, error, trace)


def unreachable(options: Options, reason: str) -> AgentUnreachable:
    """The client gets only the name of the server. Its URL and the reason are logged, and are a note of the error."""
    logger.warning("The MCP server %r (%s) cannot be reached: %s", options.name, options.where, reason)
    error = AgentUnreachable(f"The MCP server {options.name!r} cannot be reached.")
    error.add_note(f"{options.where}: {reason}")
    return error


def first_cause(error: BaseException) -> BaseException:
    """The first cause within exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def describe_error(error: BaseException | None) -> str:
    if isinstance(error, MCPError):
        return " ".join(error.message.split())[:500]
    return f"{type(error).__name__}: {error}" if error is not None and str(error) else type(error).__name__
