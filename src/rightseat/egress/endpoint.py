"""Client of a CopilotKit remote endpoint: discovers its actions and agents, and runs them.

Discovery depends on the user, so it is cached by the properties and headers of an ask. Failures are cached too, so that
a dead endpoint does not delay every run.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from pydantic import ConfigDict, Field

from rightseat.core.agent import AgentThread
from rightseat.core.ask import Ask
from rightseat.core.errors import AgentError, AgentUnreachable
from rightseat.egress.headers import RequestHeaders
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import BaseUrl, HeaderName, HeaderSecret
from rightseat.egress.service import RemoteService
from rightseat.parts import Reference
from rightseat.wire import lines
from rightseat.wire.copilotkit.descriptions import EndpointInfo, read_info
from rightseat.wire.copilotkit.messages import read_thread

WHAT = "The remote endpoint"
MAX_CACHED_INFOS = 256
THREAD_TIMEOUT = 10.0
"""Seconds to load a thread: a page waits for it before it shows the chat."""


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    url: BaseUrl
    """The URL of the endpoint, as CopilotKit's runtime has it in `url` of a remote endpoint."""
    headers: dict[HeaderName, HeaderSecret] = Field(default_factory=dict)
    """Sent with every request, such as an API key of the endpoint."""
    forward: tuple[HeaderName, ...] = ()
    """Headers of the client's request that are forwarded to the endpoint, of those listed in `headers` of the face."""
    header_hook: Reference | None = None
    """An async function of yours, as `module:function`: it receives the ask before each request and returns headers."""
    timeout: float = Field(default=300.0, gt=0)
    """The longest pause of the endpoint, in seconds, before a run or an action fails."""
    discovery_timeout: float = Field(default=2.0, gt=0)
    """Seconds to connect to the endpoint and to list its actions and agents."""
    cache_seconds: float = Field(default=10.0, ge=0)
    """How long the list of actions and agents is cached, and that the endpoint could not be reached."""


class Endpoint:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._service = RemoteService(
            options.url,
            options.headers,
            what=WHAT,
            timeout=options.timeout,
            connect_timeout=min(options.discovery_timeout, 10.0),
            network=options,
        )
        self._headers = RequestHeaders(options.headers, options.forward, options.header_hook)
        self._infos: dict[bytes, tuple[float, EndpointInfo | AgentError]] = {}

    async def aclose(self) -> None:
        await self._service.aclose()

    async def info(self, ask: Ask) -> EndpointInfo:
        """Raises `AgentError`, the cached one for `cache_seconds`."""
        key = self._cache_key(ask)
        now = asyncio.get_running_loop().time()
        if (cached := self._infos.get(key)) is None or now - cached[0] >= self._options.cache_seconds:
            cached = (now, await self._discover(ask))
            self._infos.pop(key, None)
            self._infos[key] = cached
            while len(self._infos) > MAX_CACHED_INFOS:
                del self._infos[next(iter(self._infos))]
        if isinstance(cached[1], AgentError):
            raise cached[1]
        return cached[1]

    def _cache_key(self, ask: Ask) -> bytes:
        """All that the response can depend on, without the hook's headers: those may change every time."""
        user = [ask.principal.id, dict(ask.headers)] if self._headers.has_hook else self._headers.select(ask)
        return msgspec.json.encode([dict(ask.properties), user], order="sorted")

    async def _discover(self, ask: Ask) -> EndpointInfo | AgentError:
        headers = await self._headers.make(ask)
        body = {"properties": dict(ask.properties)}
        try:
            timeout = self._options.discovery_timeout
            return read_info(await self._service.post_json("/info", body, headers, timeout=timeout), self._service.url)
        except AgentError as error:
            return error.with_traceback(None)

    async def run_action(self, name: str, arguments: Mapping[str, Any], ask: Ask) -> Any:
        body = {"name": name, "arguments": dict(arguments), "properties": dict(ask.properties)}
        response = await self._service.post_json("/actions/execute", body, await self._headers.make(ask))
        return response.get("result") if isinstance(response, dict) else response

    async def load_thread(self, agent: str, ask: Ask) -> AgentThread | None:
        """The thread as the endpoint stores it; None if it has none."""
        body = {"properties": dict(ask.properties), "threadId": ask.thread_id, "name": agent}
        headers = await self._headers.make(ask)
        stored = await self._service.post_json("/agents/state", body, headers, timeout=THREAD_TIMEOUT)
        return read_thread(stored, self._service.url)

    async def make_headers(self, ask: Ask) -> dict[str, str]:
        """Headers of the next request, beside the configured ones. Raises `HeaderHookFailed`."""
        return await self._headers.make(ask)

    def redact(self, text: str, headers: Mapping[str, str]) -> str:
        """A text of the endpoint, for the log: without the secrets that were sent to it."""
        return self._service.redact(text, headers)

    async def run_agent(self, body: Any, headers: Mapping[str, str]) -> AsyncIterator[dict[str, Any]]:
        """Yields the lines of an agent's response."""
        async with self._service.post("/agents/execute", body, headers, is_timed=True) as response:
            decoder = lines.LineDecoder(lines.MAX_AGENT_LINE_BYTES)
            async for piece in response:
                for line in decoder.feed(piece):
                    yield read_line(line)
            for line in decoder.rest():
                yield read_line(line)


def read_line(line: bytes) -> dict[str, Any]:
    try:
        return lines.read(line)
    except ValueError as error:
        raise AgentUnreachable(f"{WHAT} sent an invalid line: {error}.") from error
