"""An MCP server: one session per set of credentials, and the cached list of its tools."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakValueDictionary

import mcp_types as types
from mcp import MCPError
from pydantic import ValidationError

from rightseat.concurrency import run_to_completion
from rightseat.core.errors import AgentError
from rightseat.egress.redaction import Redactor, find_secrets
from rightseat.toolboxes.mcp.connection import Connection, describe_error, unreachable
from rightseat.toolboxes.mcp.elicitation import answer_elicitation
from rightseat.toolboxes.mcp.options import Options
from rightseat.toolboxes.mcp.pins import Pins

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_SESSIONS = 64  # per server; beyond them, idle sessions are closed
MAX_PAGES = 100
CHANGED_RECHECK_S = 2.0  # until an accepted change is noticed


class SessionLost(Exception):
    """A session ended during a request. `was_not_sent`: the request never reached the server."""

    def __init__(self, was_not_sent: bool) -> None:
        super().__init__("the session ended")
        self.was_not_sent = was_not_sent


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools and capabilities of a server. `changed` are names of tools that differ from their pins.

    `instructions` are the server's, if the model may get them.
    """

    tools: tuple[types.Tool, ...]
    changed: tuple[str, ...] = ()
    instructions: str = ""
    instructions_changed: bool = False
    """The instructions differ from their pin."""
    resources: bool = False
    prompts: bool = False


class McpServer:
    def __init__(self, options: Options, pins: Pins) -> None:
        self.options = options
        self.redactor = Redactor(secrets=find_secrets({**options.plain_headers, **options.plain_env}))
        """Redacts the operator's secrets in messages of the server."""
        self.prefers_pins = False
        """Whether the pinned tools are listed without asking the server, if there are any: for evaluations."""
        self._pins = pins
        self._connections: dict[bytes, Connection] = {}
        self._failures: dict[bytes, tuple[float, AgentError]] = {}
        self._listed: dict[bytes, tuple[float, Listing]] = {}
        self._locks: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()
        self._closing: set[asyncio.Task[None]] = set()
        self._unknown: set[str] = set()

    async def close(self) -> None:
        """Close all sessions."""
        while self._connections:
            _, connection = self._connections.popitem()
            await connection.close()
        if self._closing:
            await asyncio.wait(self._closing)

    async def listing(self, headers: Mapping[str, str]) -> Listing:
        """The tools for these headers. The list is cached, and so is a failure to connect."""
        key, now = key_of(headers), asyncio.get_running_loop().time()
        if self.prefers_pins and (pinned := await self._pinned_listing()) is not None:
            remember(self._listed, key, (now, pinned))
            return pinned
        async with self._locks.setdefault(key, asyncio.Lock()):
            if (failed := self._failures.get(key)) and now - failed[0] < self.options.cache_seconds:
                raise failed[1]
            last_listing, connection = self._listed.get(key), self._connections.get(key)
            is_current = connection is not None and connection.is_open and connection.listing is not None
            if last_listing is not None and is_current and now - last_listing[0] < self._cache_seconds(last_listing[1]):
                return last_listing[1]
            try:
                found = await self.request(headers, self._list, may_repeat=True)
            except AgentError as error:
                remember(self._failures, key, (now, error.with_traceback(None)))
                raise
            self._failures.pop(key, None)
            remember(self._listed, key, (now, found))
            return found

    async def _pinned_listing(self) -> Listing | None:
        if self.options.resources or self.options.prompts:
            return None  # whether the server has them is not pinned
        pinned = await self._pins.read(self.options)
        return None if pinned is None else Listing(pinned[0], (), pinned[1] if self.options.instructions else "")

    def _cache_seconds(self, listing: Listing) -> float:
        """Cache a changed listing only briefly, since the change may be accepted at any time."""
        has_changed = listing.changed or listing.instructions_changed
        return min(self.options.cache_seconds, CHANGED_RECHECK_S) if has_changed else self.options.cache_seconds

    def last_listing(self, headers: Mapping[str, str]) -> Listing | None:
        """The last received listing."""
        listed = self._listed.get(key_of(headers))
        return listed[1] if listed else None

    def current_listing(self, headers: Mapping[str, str]) -> Listing | None:
        """The last listing, unless the last connection failed."""
        return None if key_of(headers) in self._failures else self.last_listing(headers)

    async def request(
        self, headers: Mapping[str, str], send: Callable[[Connection], Awaitable[T]], *, may_repeat: bool
    ) -> T:
        """Send a request in a session. A session that ended is reopened, and the request repeated if that is safe.

        Raise `AgentUnreachable`, `SessionLost`, or `MCPError` if the server returns an error.
        """
        try:
            return await self._request_once(headers, send)
        except SessionLost as lost:
            if not (may_repeat or lost.was_not_sent):
                raise
        try:
            return await self._request_once(headers, send)
        except SessionLost as lost:
            if lost.was_not_sent or may_repeat:
                raise unreachable(self.options, "it closes its sessions") from lost
            raise

    async def _request_once(self, headers: Mapping[str, str], send: Callable[[Connection], Awaitable[T]]) -> T:
        async with self._session(headers) as connection:
            try:
                return await send(connection)
            except MCPError as error:
                if error.code == types.CONNECTION_CLOSED:
                    await connection.wait_closed()
                    raise SessionLost(connection.never_connected) from error
                if connection.is_forgotten:
                    connection.close_soon()
                    raise SessionLost(was_not_sent=True) from error
                raise

    @asynccontextmanager
    async def _session(self, headers: Mapping[str, str]) -> AsyncIterator[Connection]:
        connection = await self._connect(headers)
        connection.uses += 1
        try:
            yield connection
        finally:
            connection.uses -= 1

    async def _connect(self, headers: Mapping[str, str]) -> Connection:
        key = key_of(headers)
        async with self._locks.setdefault(key + b":open", asyncio.Lock()):
            connection = self._connections.pop(key, None)
            if connection is None or not connection.is_open:
                connection = Connection(self.options, {**self.options.plain_headers, **headers}, answer_elicitation)
                await connection.open()
            self._connections[key] = connection
        self._close_idle()
        return connection

    def _close_idle(self) -> None:
        idle = [key for key, one in self._connections.items() if not one.uses]
        for key in idle[: max(0, len(self._connections) - MAX_SESSIONS)]:
            task = asyncio.create_task(run_to_completion(self._connections.pop(key).close()))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _list(self, connection: Connection) -> Listing:
        try:
            async with asyncio.timeout(self.options.discovery_timeout):
                tools = await self._tools(connection)
        except TimeoutError:
            connection.close_soon()
            raise unreachable(self.options, "it did not list its tools in time") from None
        except (ValidationError, RuntimeError) as error:
            raise unreachable(self.options, f"its list of tools is invalid: {error}") from error
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or connection.is_forgotten:
                raise
            raise unreachable(self.options, f"it cannot list its tools: {describe_error(error)}") from error
        self._warn_about_unknown([tool.name for tool in tools])
        offered, instructions = connection.session.server_capabilities, connection.session.instructions or ""
        changed = await self._pins.check(self.options, tools, instructions)
        instructions_changed = bool(instructions) and changed.instructions
        hides_instructions = not self.options.instructions or (
            instructions_changed and self.options.on_tool_change == "refuse"
        )
        connection.listing = listing = Listing(
            tuple(tools),
            changed.tools,
            "" if hides_instructions else instructions,
            instructions_changed and self.options.instructions,
            resources=offered is not None and offered.resources is not None,
            prompts=offered is not None and offered.prompts is not None,
        )
        return listing

    def _warn_about_unknown(self, known: Sequence[str]) -> None:
        """Warn once about each configured tool name that the server does not have: it may be a typo."""
        for name in dict.fromkeys((*(self.options.tools or ()), *self.options.read_only_tools)):
            if name not in ("*", *known, *self._unknown):
                self._unknown.add(name)
                message = "The MCP server %r has no tool %r, which `tools` or `read_only_tools` names. It has: %s."
                logger.warning(message, self.options.name, name, ", ".join(known) or "none")

    async def _tools(self, connection: Connection) -> list[types.Tool]:
        found: dict[str, types.Tool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await connection.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            for tool in page.tools:
                found.setdefault(tool.name, tool)
            cursor = page.next_cursor
            if cursor is None:
                return list(found.values())
        logger.warning("The MCP server %r lists too many tools: using the first %d", self.options.name, len(found))
        return list(found.values())


def key_of(headers: Mapping[str, str]) -> bytes:
    """Identifies a set of credentials without storing them."""
    text = "\n".join(f"{name}: {headers[name]}" for name in sorted(headers))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def remember(cache: dict[bytes, tuple[float, T]], key: bytes, value: tuple[float, T]) -> None:
    cache.pop(key, None)
    cache[key] = value
    while len(cache) > 4 * MAX_SESSIONS:
        del cache[next(iter(cache))]
