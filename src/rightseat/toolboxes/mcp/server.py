"""An MCP server: its sessions, one for each set of credentials, and what it offers."""

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

from rightseat.core.cancelling import to_the_end
from rightseat.core.errors import AgentError
from rightseat.egress.redaction import Redactor, secrets_in
from rightseat.toolboxes.mcp.connecting import Connection, said, unreachable
from rightseat.toolboxes.mcp.eliciting import answer
from rightseat.toolboxes.mcp.pinning import Pins
from rightseat.toolboxes.mcp.settings import Settings

logger = logging.getLogger(__name__)

T = TypeVar("T")

SESSIONS = 64  # with one server; beyond them, those that nobody uses are closed
PAGES = 100
CHANGED_RECHECK_S = 2.0  # after which an accepted change is noticed, at the next ask


class Lost(Exception):
    """A session ended while it was asked. `unsent`: what was asked never came to the server."""

    def __init__(self, unsent: bool) -> None:
        super().__init__("the session ended")
        self.unsent = unsent


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offers. `changed` are names of tools that are not what they first were.

    `instructions` are what it says of the use of its tools, where the model may be told.
    """

    tools: tuple[types.Tool, ...]
    changed: tuple[str, ...] = ()
    instructions: str = ""
    is_told_otherwise: bool = False
    """The instructions are not what they first were."""
    resources: bool = False
    prompts: bool = False


class Server:
    def __init__(self, settings: Settings, pins: Pins) -> None:
        self.settings = settings
        self.redactor = Redactor(secrets=secrets_in({**settings.headers, **settings.env}))
        """Covers what the operator sends to the server, where the server repeats it."""
        self._pins = pins
        self._connections: dict[bytes, Connection] = {}
        self._failures: dict[bytes, tuple[float, AgentError]] = {}
        self._listed: dict[bytes, tuple[float, Listing]] = {}
        self._locks: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()
        self._closing: set[asyncio.Task[None]] = set()
        self._unknown: set[str] = set()

    async def close(self) -> None:
        """End every session."""
        while self._connections:
            _, connection = self._connections.popitem()
            await connection.close()
        if self._closing:
            await asyncio.wait(self._closing)

    async def listing(self, headers: Mapping[str, str]) -> Listing:
        """What it offers to whoever sends these headers; remembered for a while, as is that it cannot be reached."""
        key, now = key_of(headers), asyncio.get_running_loop().time()
        async with self._locks.setdefault(key, asyncio.Lock()):
            if (failed := self._failures.get(key)) and now - failed[0] < self.settings.keep:
                raise failed[1]
            known, connection = self._listed.get(key), self._connections.get(key)
            is_told = connection is not None and connection.is_open and connection.listing is not None
            if known is not None and is_told and now - known[0] < self._keep(known[1]):
                return known[1]
            try:
                found = await self.ask(headers, self._list, repeats=True)
            except AgentError as error:
                remember(self._failures, key, (now, error.with_traceback(None)))
                raise
            self._failures.pop(key, None)
            remember(self._listed, key, (now, found))
            return found

    def _keep(self, listing: Listing) -> float:
        """For how many seconds it is remembered. A change may be accepted at any time."""
        has_changed = listing.changed or listing.is_told_otherwise
        return min(self.settings.keep, CHANGED_RECHECK_S) if has_changed else self.settings.keep

    def known(self, headers: Mapping[str, str]) -> Listing | None:
        """What was last heard of what it offers."""
        listed = self._listed.get(key_of(headers))
        return listed[1] if listed else None

    def current(self, headers: Mapping[str, str]) -> Listing | None:
        """The same, unless it could not be reached when it was last asked."""
        return None if key_of(headers) in self._failures else self.known(headers)

    async def ask(
        self, headers: Mapping[str, str], question: Callable[[Connection], Awaitable[T]], *, repeats: bool
    ) -> T:
        """What a session answers. One that has ended is opened anew and asked again where that does no harm.

        Raises `AgentUnreachable`, `Lost`, or `MCPError` where the server answers with an error.
        """
        try:
            return await self._ask_once(headers, question)
        except Lost as lost:
            if not (repeats or lost.unsent):
                raise
        try:
            return await self._ask_once(headers, question)
        except Lost as lost:
            if lost.unsent or repeats:
                raise unreachable(self.settings, "it ends its sessions") from lost
            raise

    async def _ask_once(self, headers: Mapping[str, str], question: Callable[[Connection], Awaitable[T]]) -> T:
        async with self._session(headers) as connection:
            try:
                return await question(connection)
            except MCPError as error:
                if error.code == types.CONNECTION_CLOSED:
                    await connection.ended()
                    raise Lost(connection.never_connected) from error
                if connection.is_forgotten:
                    connection.leave()
                    raise Lost(unsent=True) from error
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
                connection = Connection(self.settings, {**self.settings.headers, **headers}, answer)
                await connection.open()
            self._connections[key] = connection
        self._make_room()
        return connection

    def _make_room(self) -> None:
        idle = [key for key, one in self._connections.items() if not one.uses]
        for key in idle[: max(0, len(self._connections) - SESSIONS)]:
            task = asyncio.create_task(to_the_end(self._connections.pop(key).close()))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _list(self, connection: Connection) -> Listing:
        try:
            async with asyncio.timeout(self.settings.discover_within):
                tools = await self._tools(connection)
        except TimeoutError:
            connection.leave()
            raise unreachable(self.settings, "it does not say what it offers") from None
        except (ValidationError, RuntimeError) as error:
            raise unreachable(self.settings, f"its tools cannot be understood: {error}") from error
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED or connection.is_forgotten:
                raise
            raise unreachable(self.settings, f"it does not list its tools: {said(error)}") from error
        self._tell_of_unknown([tool.name for tool in tools])
        offered, instructions = connection.session.server_capabilities, connection.session.instructions or ""
        changed = await self._pins.check(self.settings, tools, instructions)
        is_told_otherwise = bool(instructions) and changed.instructions
        is_silent = not self.settings.instructions or (is_told_otherwise and self.settings.changed == "refuse")
        connection.listing = listing = Listing(
            tuple(tools),
            changed.tools,
            "" if is_silent else instructions,
            is_told_otherwise and self.settings.instructions,
            resources=offered is not None and offered.resources is not None,
            prompts=offered is not None and offered.prompts is not None,
        )
        return listing

    def _tell_of_unknown(self, known: Sequence[str]) -> None:
        """Once: a name with a slip in it would take a tool away, or have a person asked, and nobody would know why."""
        for name in dict.fromkeys((*(self.settings.tools or ()), *self.settings.reads)):
            if name not in ("*", *known, *self._unknown):
                self._unknown.add(name)
                said = "The MCP server %r has no tool %r, which `tools` or `reads` names. It has: %s."
                logger.warning(said, self.settings.name, name, ", ".join(known) or "none")

    async def _tools(self, connection: Connection) -> list[types.Tool]:
        found: dict[str, types.Tool] = {}
        cursor: str | None = None
        for _ in range(PAGES):
            page = await connection.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
            for tool in page.tools:
                found.setdefault(tool.name, tool)
            cursor = page.next_cursor
            if cursor is None:
                return list(found.values())
        logger.warning("The MCP server %r lists its tools without end: %d are used", self.settings.name, len(found))
        return list(found.values())


def key_of(headers: Mapping[str, str]) -> bytes:
    """Names a set of credentials without holding them."""
    text = "\n".join(f"{name}: {headers[name]}" for name in sorted(headers))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def remember(kept: dict[bytes, tuple[float, T]], key: bytes, value: tuple[float, T]) -> None:
    kept.pop(key, None)
    kept[key] = value
    while len(kept) > 4 * SESSIONS:
        del kept[next(iter(kept))]
