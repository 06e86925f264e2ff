"""A graph of a LangGraph server, over its HTTP interface.

Our own client: of the official one (`langgraph-sdk`) four calls would be used, and it brings a second HTTP library. The
tests run against the real server.
"""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

import msgspec
from pydantic import JsonValue, SecretStr

from rightseat.agents.langgraph.running import Saying, thread_id, write_config
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentUnreachable
from rightseat.core.events import Event
from rightseat.core.values import JSON_ERRORS
from rightseat.egress.headers import RequestHeaders
from rightseat.egress.network import NetworkOptions
from rightseat.egress.service import Service
from rightseat.wire import sse
from rightseat.wire.langgraph import MODES, Reader, write_command, write_input
from rightseat.wire.lines import MAX_AGENT_LINE_BYTES

WHAT = "The LangGraph server"


class Platform:
    def __init__(
        self,
        url: str,
        assistant: str = "agent",
        *,
        headers: Mapping[str, SecretStr] | None = None,
        forward: tuple[str, ...] = (),
        header_hook: str | None = None,
        patience: float = 300.0,
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
        self._service = Service(url, headers or {}, what=WHAT, patience=patience, network=network)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._service.aclose()

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        thread = thread_id(ask)
        values = await self._values(thread, ask)
        headers = await self._headers.make(ask)
        reader = Reader(values.get("messages") or (), ask.messages)
        redact = partial(self._service.said, headers=headers)
        saying = Saying(ask, reader, show_errors=self._show_errors, redact=redact)
        body = self._request(ask, values)
        with self._service.deadlines() as deadlines:
            async with self._service.post(f"/threads/{thread}/runs/stream", body, headers) as answer:
                decoder = sse.Named(MAX_AGENT_LINE_BYTES)
                async for piece in answer:
                    deadlines.pause()
                    events = decoder.feed(piece)
                    for mode, data in events:
                        for event in saying.feed(mode, read(data)):
                            yield event
                            if saying.is_over:
                                return
                    deadlines.resume(bool(events))
        for event in saying.end():
            yield event

    async def _values(self, thread: str, ask: Ask) -> dict[str, Any]:
        """What the thread holds by now. One that is not there yet is made."""
        made = {"thread_id": thread, "if_exists": "do_nothing"}
        await self._service.ask("/threads", made, await self._headers.make(ask))
        state = await self._service.look(f"/threads/{thread}/state", await self._headers.make(ask))
        values = state.get("values") if isinstance(state, dict) else None
        return values if isinstance(values, dict) else {}

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


def read(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data) if data else None
    except JSON_ERRORS as error:
        raise AgentUnreachable(f"{WHAT} cannot be relied on: an event is no JSON.") from error
