"""An agent that speaks AG-UI over HTTP, whatever it is made with: it is sent the ask, and answers with events."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Any, Self

import msgspec
from pydantic import ConfigDict, Field

from rightseat.agents.keeping import Keeper, decoding
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentUnreachable
from rightseat.core.events import (
    CallReturned,
    CallStarted,
    Event,
    Interrupt,
    RunFailed,
    RunFinished,
    TextDelta,
    TextStarted,
)
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Result
from rightseat.core.values import JSON_ERRORS
from rightseat.egress.client import Response
from rightseat.egress.headers import RequestHeaders
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import Address, HeaderName, Sendable
from rightseat.egress.service import Service
from rightseat.parts import Parts, Reference
from rightseat.wire import sse
from rightseat.wire.agui import BadEvent, Reader
from rightseat.wire.agui.asking import LEGACY, write_input
from rightseat.wire.agui.reading import read_interrupt
from rightseat.wire.agui.snapshots import Said, unsaid
from rightseat.wire.agui.versions import Json
from rightseat.wire.lines import MAX_AGENT_LINE_BYTES

logger = logging.getLogger(__name__)

WHAT = "The agent's server"
FAILED = "The agent failed. The server's log has more."


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    url: Address
    """Where the agent takes runs: what an AG-UI client would `POST` to."""
    description: str = ""
    """What the agent is good for: read by people who choose one, and by models that may hand over to it."""
    headers: dict[HeaderName, Sendable] = Field(default_factory=dict)
    """Sent with every request, such as a key of the agent's server."""
    forward: tuple[HeaderName, ...] = ()
    """Headers of the client's request that the agent gets too, of those that the face passes on with its `headers`."""
    header_hook: Reference | None = None
    """An async function of yours, as `module:function`. It gets the ask before each request, and returns headers."""
    patience: float = Field(default=300.0, gt=0)
    """The longest silence, in seconds, before a run is given up."""
    client_node: bool = False
    """Pass on the node at which the client believes the agent to be, which CopilotKit's clients send as
    `nodeName`. A graph goes on behind that node: a client could skip one that checks something."""
    show_errors: bool = False
    """Whether clients see the agent's own words when it fails. Many agents put the text of an exception there, so
    without it these words go to the server's log alone."""
    raw: bool = False
    """Whether the `RAW` events of the agent are kept and passed on: what its framework said, beside what it means."""


def build(options: Options, parts: Parts) -> Agent:
    return AGUI(options)


class AGUI:
    def __init__(self, options: Options) -> None:
        self.description = options.description
        self._options = options
        self._headers = RequestHeaders(options.headers, options.forward, options.header_hook)
        self._service = Service(
            options.url,
            options.headers,
            what=WHAT,
            accept="text/event-stream",
            patience=options.patience,
            network=options,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._service.aclose()

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        given = write_input(ask, ask.node if self._options.client_node else None)
        headers = await self._headers.make(ask)
        hearing = Hearing(ask, self._options, partial(self._service.said, headers=headers))
        with self._service.deadlines() as deadlines:
            async with self._service.post("", given, headers) as answer:
                check_kind(answer)
                decoder = sse.Decoder(MAX_AGENT_LINE_BYTES)
                async for piece in answer:
                    deadlines.pause()
                    events = decoder.feed(piece)
                    for data in events:
                        for event in hearing.hear(data):
                            yield event
                    if hearing.is_over:
                        await answer.finish()
                        return
                    deadlines.resume(bool(events))
                deadlines.pause()
                for data in decoder.rest():
                    for event in hearing.hear(data):
                        yield event
        if not hearing.is_over:
            raise AgentUnreachable(f"{WHAT} cannot be relied on: its answer broke off.")


def check_kind(response: Response) -> None:
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "text/event-stream":
        raise AgentUnreachable(f"{WHAT} answered with {kind or 'no content type'} instead of a stream of events.")


class Hearing:
    """Feed it what an agent sends; take what the run says. Nothing follows once it `is_over`."""

    def __init__(self, ask: Ask, options: Options, redact: Callable[[str], str]) -> None:
        self._options = options
        self._redact = redact
        self._run_id = ask.run_id
        self._reader = Reader()
        self._keeper = Keeper()
        parts = [part for message in ask.messages for part in message.parts]
        results = {part.call_id for part in parts if isinstance(part, Result)}
        self._said = Said({message.id for message in ask.messages} | results)
        self._names = {part.id: part.name for part in parts if isinstance(part, Call)}
        self._waiting: set[str] = set()  # calls of this run without a result
        self._asked: list[Interrupt] = []
        self.is_over = False

    def hear(self, data: bytes) -> Iterator[Event]:
        """Raises `BadEvent` or `Confused` for what cannot be understood, or comes where it may not."""
        if not self.is_over:
            with decoding():
                yield from self._hear(read(data))

    def _hear(self, raw: Json) -> Iterator[Event]:
        match raw:
            case {"type": "RAW"} if not self._options.raw:
                return
            case {"type": "MESSAGES_SNAPSHOT"}:
                for event in unsaid(raw.get("messages"), self._said):
                    yield from self._say(event)
            case {"type": "CUSTOM", "name": "on_interrupt"}:
                self._asked.append(read_question(raw))
        for event in self._reader.read(raw):
            yield from self._say(event)

    def _say(self, event: Event) -> Iterator[Event]:
        for kept in self._keeper.keep(event):
            yield self._noted(kept)

    def _noted(self, event: Event) -> Event:
        match event:
            case TextStarted(message_id=id):
                self._said.ids.add(id)
                self._said.texts[id] = ""
            case TextDelta(message_id=id, text=text):
                self._said.texts[id] += text
            case CallStarted(call_id=id, name=name):
                self._said.ids.add(id)
                self._names[id] = name
                self._waiting.add(id)
            case CallReturned(call_id=id):
                self._said.ids.add(f"result-{id}")
                self._waiting.discard(id)
                return msgspec.structs.replace(event, name=event.name or self._names.get(id, ""))
            case RunFinished():
                self.is_over = True
                return self._finished(event)
            case RunFailed():
                self.is_over = True
                return self._failed(event)
        return event

    def _finished(self, event: RunFinished) -> RunFinished:
        if event.outcome == "cancelled":
            return event
        asked = event.interrupts or tuple(self._asked)
        return RunFinished("waiting" if asked or self._waiting else "done", asked, event.result)

    def _failed(self, event: RunFailed) -> RunFailed:
        if self._options.show_errors:
            return event
        logger.warning("run %s: the agent failed: %s: %s", self._run_id, event.code, self._redact(event.message))
        return RunFailed(event.code, FAILED)


def read(data: bytes) -> Json:
    try:
        raw: Any = msgspec.json.decode(data)
    except JSON_ERRORS as error:
        raise BadEvent(f"An event of the agent is no JSON: {error}") from error
    if not isinstance(raw, dict):
        raise BadEvent("An event of the agent is no JSON object.")
    return raw


def read_question(raw: Json) -> Interrupt:
    """LangGraph's own way to ask, from before AG-UI had one. CrewAI has only the name from it: what it asks is AG-UI's,
    and is answered as AG-UI says."""
    value, origin = raw.get("value"), raw.get("rawEvent")
    if not origin and isinstance(value, dict) and isinstance(value.get("id"), str) and "reason" in value:
        return read_interrupt(value)
    named = origin.get("id") if isinstance(origin, dict) else None
    message = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    id = new_id("interrupt")
    return Interrupt(id, "on_interrupt", message, memo={"kind": LEGACY, "id": named or id, "value": value})
