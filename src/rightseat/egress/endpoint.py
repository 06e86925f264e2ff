"""A CopilotKit remote endpoint: what it offers, its actions and its agents.

What it offers depends on who asks, so it is asked for with the properties and headers of each ask, and kept for a
moment; that it cannot be reached is kept too, so that a dead endpoint does not hold up one run after another.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from pydantic import ConfigDict, Field

from rightseat.core.ask import Ask
from rightseat.core.errors import AgentError, AgentUnreachable
from rightseat.egress.headers import RequestHeaders
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import Address, HeaderName, Sendable
from rightseat.egress.service import Service
from rightseat.parts import Reference
from rightseat.wire import lines
from rightseat.wire.copilotkit.describing import Info, read_info

WHAT = "The remote endpoint"
KEPT = 256  # answers


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    url: Address
    """Where the endpoint is: what CopilotKit's runtime calls the `url` of a remote endpoint."""
    headers: dict[HeaderName, Sendable] = Field(default_factory=dict)
    """Sent with every request, such as a key of the endpoint."""
    forward: tuple[HeaderName, ...] = ()
    """Headers of the client's request that the endpoint gets too, of those that the face passes on with its `headers`.
    """
    header_hook: Reference | None = None
    """An async function of yours, as `module:function`. It gets the ask before each request, and returns headers."""
    patience: float = Field(default=300.0, gt=0)
    """The longest silence, in seconds, before a run or an action is given up."""
    discover_within: float = Field(default=2.0, gt=0)
    """How long the endpoint has, in seconds, to say what it offers."""
    keep: float = Field(default=10.0, ge=0)
    """For how long, in seconds, what it offers is remembered, or that it could not be reached."""


class Endpoint:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._service = Service(
            options.url,
            options.headers,
            what=WHAT,
            patience=options.patience,
            connect_within=min(options.discover_within, 10.0),
            network=options,
        )
        self._headers = RequestHeaders(options.headers, options.forward, options.header_hook)
        self._known: dict[bytes, tuple[float, Info | AgentError]] = {}

    async def aclose(self) -> None:
        await self._service.aclose()

    async def info(self, ask: Ask) -> Info:
        """Raises `AgentError`, again and again until it is time to try anew."""
        key = self._key(ask)
        now = asyncio.get_running_loop().time()
        if (known := self._known.get(key)) is None or now - known[0] >= self._options.keep:
            known = (now, await self._discover(ask))
            self._known.pop(key, None)
            self._known[key] = known
            while len(self._known) > KEPT:
                del self._known[next(iter(self._known))]
        if isinstance(known[1], AgentError):
            raise known[1]
        return known[1]

    def _key(self, ask: Ask) -> bytes:
        """All that the answer can depend on. What the hook returns is not part of it: that may be new every time."""
        asker = [ask.principal.id, dict(ask.headers)] if self._headers.has_hook else self._headers.forwarded(ask)
        return msgspec.json.encode([dict(ask.properties), asker], order="sorted")

    async def _discover(self, ask: Ask) -> Info | AgentError:
        headers = await self._headers.make(ask)
        body = {"properties": dict(ask.properties)}
        try:
            return read_info(await self._service.ask("/info", body, headers, within=self._options.discover_within))
        except AgentError as error:
            return error.with_traceback(None)

    async def act(self, name: str, arguments: Mapping[str, Any], ask: Ask) -> Any:
        """The result of an action."""
        body = {"name": name, "arguments": dict(arguments), "properties": dict(ask.properties)}
        answer = await self._service.ask("/actions/execute", body, await self._headers.make(ask))
        return answer.get("result") if isinstance(answer, dict) else answer

    async def headers(self, ask: Ask) -> dict[str, str]:
        """Those of the next request, beside the fixed ones. Raises `HeaderHookFailed`."""
        return await self._headers.make(ask)

    def redact(self, text: str, headers: Mapping[str, str]) -> str:
        """What the endpoint said, for the log: without the secrets that it was sent."""
        return self._service.said(text, headers)

    async def execute(self, body: Any, headers: Mapping[str, str]) -> AsyncIterator[dict[str, Any]]:
        """The lines that an agent answers with."""
        async with self._service.post("/agents/execute", body, headers, is_timed=True) as response:
            decoder = lines.Decoder(lines.MAX_AGENT_LINE_BYTES)
            async for piece in response:
                for line in decoder.feed(piece):
                    yield read(line)
            for line in decoder.rest():
                yield read(line)


def read(line: bytes) -> dict[str, Any]:
    try:
        return lines.read(line)
    except ValueError as error:
        raise AgentUnreachable(f"{WHAT} cannot be relied on: {error}.") from error
