"""Runs a graph of a LangGraph server over its HTTP API.

The official client (`langgraph-sdk`) is not used: only four of its calls are needed, and it adds a second HTTP library.
The tests run against the real server.
"""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any, Self

import msgspec
from pydantic import JsonValue, SecretStr

from rightseat.agents.langgraph.runner import GraphRun, read_thread, thread_id, write_config
from rightseat.core.agent import AgentThread
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentEndpointNotFound, AgentUnreachable, tell_operator
from rightseat.core.events import Event
from rightseat.core.types import JSON_ERRORS
from rightseat.egress.headers import RequestHeaders
from rightseat.egress.network import NetworkOptions
from rightseat.egress.service import RemoteService
from rightseat.wire import sse
from rightseat.wire.langgraph import MODES, LangGraphDecoder, write_command, write_input
from rightseat.wire.lines import MAX_AGENT_LINE_BYTES

WHAT = "The LangGraph server"


class LangGraphPlatform:
    def __init__(
        self,
        url: str,
        assistant: str = "agent",
        *,
        headers: Mapping[str, SecretStr] | None = None,
        forward: tuple[str, ...] = (),
        header_hook: str | None = None,
        timeout: float = 300.0,
        config: Mapping[str, JsonValue] | None = None,
        client_config: bool = False,
        description: str = "",
        show_errors: bool = False,
        network: NetworkOptions | None = None,
    ) -> None:
        self.description = description
        self._assistant = assistant
        self._headers = RequestHeaders(headers or {}, forward, header_hook)
        self._config = dict(config or {})
        self._client_config = client_config
        self._show_errors = show_errors
        self._service = RemoteService(url, headers or {}, what=WHAT, timeout=timeout, network=network)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._service.aclose()

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        thread = thread_id(ask)
        values = await self._values(thread, ask)
        headers = await self._headers.make(ask)
        reader = LangGraphDecoder(values.get("messages") or (), ask.messages)
        redact = partial(self._service.redact, headers=headers)
        run = GraphRun(ask, reader, show_errors=self._show_errors, redact=redact)
        body = self._request(ask, values)
        with self._service.deadlines() as deadlines:
            async with self._service.post(f"/threads/{thread}/runs/stream", body, headers) as response:
                decoder = sse.NamedSseDecoder(MAX_AGENT_LINE_BYTES)
                async for piece in response:
                    deadlines.pause()
                    events = decoder.feed(piece)
                    for mode, data in events:
                        for event in run.feed(mode, read_event(data, self._service.url)):
                            yield event
                            if run.is_over:
                                return
                    deadlines.resume(bool(events))
        for event in run.end():
            yield event

    async def load_thread(self, ask: Ask) -> AgentThread | None:
        headers = await self._headers.make(ask)
        try:
            state = await self._service.get_json(f"/threads/{thread_id(ask)}/state", headers)
        except AgentEndpointNotFound:
            return None
        return read_thread(values_of(state))

    async def _values(self, thread: str, ask: Ask) -> dict[str, Any]:
        """The current values of the thread, which is created if necessary."""
        made = {"thread_id": thread, "if_exists": "do_nothing"}
        await self._service.post_json("/threads", made, await self._headers.make(ask))
        state = await self._service.get_json(f"/threads/{thread}/state", await self._headers.make(ask))
        return values_of(state)

    def _request(self, ask: Ask, values: dict[str, Any]) -> dict[str, Any]:
        command = write_command(ask)
        return {
            "assistant_id": self._assistant,
            "stream_mode": list(MODES),
            "on_disconnect": "cancel",
            "multitask_strategy": "interrupt",
            "config": write_config(self._config, ask, client_config=self._client_config),
            **({"input": write_input(ask, values)} if command is None else {"command": command}),
        }


def values_of(state: Any) -> dict[str, Any]:
    values = state.get("values") if isinstance(state, dict) else None
    return values if isinstance(values, dict) else {}


def read_event(data: bytes, url: str) -> Any:
    try:
        return msgspec.json.decode(data) if data else None
    except JSON_ERRORS as error:
        raise tell_operator(AgentUnreachable(f"{WHAT} sent an event that is not JSON."), url) from error
