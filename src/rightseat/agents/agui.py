"""A remote agent behind an AG-UI endpoint: each run is one HTTP request, and the response streams its events."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Any, Self

import msgspec
from pydantic import ConfigDict, Field

from rightseat.agents.event_normalizer import EventNormalizer, decoding
from rightseat.core import events as e
from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import AgentUnreachable, tell_operator
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Result
from rightseat.core.types import JSON_ERRORS
from rightseat.egress.headers import RequestHeaders
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import BaseUrl, HeaderName, HeaderSecret
from rightseat.egress.service import RemoteService
from rightseat.egress.transport import Response
from rightseat.parts import Parts, Reference
from rightseat.wire import sse
from rightseat.wire.agui import AguiDecoder, BadEvent
from rightseat.wire.agui.decoder import read_interrupt
from rightseat.wire.agui.request import LEGACY, write_input
from rightseat.wire.agui.snapshots import StreamHistory, find_unstreamed
from rightseat.wire.agui.versions import Json
from rightseat.wire.lines import MAX_AGENT_LINE_BYTES

logger = logging.getLogger(__name__)

WHAT = "The agent server"
FAILED = "The agent failed. The server's log has more."


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    url: BaseUrl
    """The URL of the agent's AG-UI endpoint, to which AG-UI clients send `POST` requests."""
    description: str = ""
    """The purpose of the agent: users read it to choose an agent, models to decide whether to hand over to it."""
    headers: dict[HeaderName, HeaderSecret] = Field(default_factory=dict)
    """Sent with every request, such as an API key of the agent server."""
    forward: tuple[HeaderName, ...] = ()
    """Headers of the client's request that are forwarded to the agent, of those listed in `headers` of the face."""
    header_hook: Reference | None = None
    """An async function of yours, as `module:function`: it receives the ask before each request and returns headers."""
    timeout: float = Field(default=300.0, gt=0)
    """The longest time without an event, in seconds, before a run fails."""
    client_node: bool = False
    """Whether the agent receives the node that CopilotKit's clients send as `nodeName`. A graph continues after that
    node, so a client could skip a node that checks something."""
    show_errors: bool = False
    """Whether clients receive the agent's own error message when it fails. Many agents send the text of an exception;
    by default it is only logged."""
    raw: bool = False
    """Whether clients receive the `RAW` events of the agent, which are the original events of its framework."""


def build(options: Options, parts: Parts) -> Agent:
    return AguiAgent(options)


class AguiAgent:
    def __init__(self, options: Options) -> None:
        self.description = options.description
        self._options = options
        self._headers = RequestHeaders(options.headers, options.forward, options.header_hook)
        self._service = RemoteService(
            options.url,
            options.headers,
            what=WHAT,
            accept="text/event-stream",
            timeout=options.timeout,
            network=options,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._service.aclose()

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[e.Event]:
        run_input = write_input(ask, ask.node if self._options.client_node else None)
        headers = await self._headers.make(ask)
        run = AguiRun(ask, self._options, partial(self._service.redact, headers=headers))
        with self._service.deadlines() as deadlines:
            async with self._service.post("", run_input, headers) as response:
                check_media_type(response, self._service.url)
                decoder = sse.SseDecoder(MAX_AGENT_LINE_BYTES)
                async for piece in response:
                    deadlines.pause()
                    events = decoder.feed(piece)
                    for data in events:
                        for event in run.read(data):
                            yield event
                    if run.is_over:
                        await response.finish()
                        return
                    deadlines.resume(bool(events))
                deadlines.pause()
                for data in decoder.rest():
                    for event in run.read(data):
                        yield event
        if not run.is_over:
            text = f"{WHAT} closed its response before the end of the run."
            raise tell_operator(AgentUnreachable(text), self._service.url)


def check_media_type(response: Response, url: str) -> None:
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "text/event-stream":
        text = f"{WHAT} sent {kind or 'no content type'} instead of text/event-stream."
        raise tell_operator(AgentUnreachable(f"{text} Check that `url` is its AG-UI endpoint."), url)


class AguiRun:
    """Converts the AG-UI events of one run into `core.events`. Events after the end of the run are ignored."""

    def __init__(self, ask: Ask, options: Options, redact: Callable[[str], str]) -> None:
        self._options = options
        self._redact = redact
        self._run_id = ask.run_id
        self._reader = AguiDecoder()
        self._normalizer = EventNormalizer()
        parts = [part for message in ask.messages for part in message.parts]
        results = {part.call_id for part in parts if isinstance(part, Result)}
        self._streamed = StreamHistory({message.id for message in ask.messages} | results)
        self._names = {part.id: part.name for part in parts if isinstance(part, Call)}
        self._waiting: set[str] = set()  # calls of this run without a result
        self._interrupts: list[e.Interrupt] = []
        self.is_over = False

    def read(self, data: bytes) -> Iterator[e.Event]:
        """Raises `BadEvent` or `InvalidAgentEvent` for an event that is malformed or out of order."""
        if not self.is_over:
            with decoding():
                yield from self._read(read(data))

    def _read(self, raw: Json) -> Iterator[e.Event]:
        match raw:
            case {"type": "RAW"} if not self._options.raw:
                return
            case {"type": "MESSAGES_SNAPSHOT"}:
                for event in find_unstreamed(raw.get("messages"), self._streamed):
                    yield from self._normalize(event)
            case {"type": "CUSTOM", "name": "on_interrupt"}:
                self._interrupts.append(read_question(raw))
        for event in self._reader.read(raw):
            yield from self._normalize(event)

    def _normalize(self, event: e.Event) -> Iterator[e.Event]:
        for normalized in self._normalizer.normalize(event):
            yield self._track(normalized)

    def _track(self, event: e.Event) -> e.Event:
        match event:
            case e.TextStarted(message_id=id):
                self._streamed.ids.add(id)
                self._streamed.texts[id] = ""
            case e.TextDelta(message_id=id, text=text):
                self._streamed.texts[id] += text
            case e.ToolCallStarted(call_id=id, name=name):
                self._streamed.ids.add(id)
                self._names[id] = name
                self._waiting.add(id)
            case e.ToolCallReturned(call_id=id):
                self._streamed.ids.add(f"result-{id}")
                self._waiting.discard(id)
                return msgspec.structs.replace(event, name=event.name or self._names.get(id, ""))
            case e.RunFinished():
                self.is_over = True
                return self._convert_finish(event)
            case e.RunFailed():
                self.is_over = True
                return self._convert_failure(event)
        return event

    def _convert_finish(self, event: e.RunFinished) -> e.RunFinished:
        if event.outcome == "cancelled":
            return event
        interrupts = event.interrupts or tuple(self._interrupts)
        return e.RunFinished("waiting" if interrupts or self._waiting else "done", interrupts, event.result)

    def _convert_failure(self, event: e.RunFailed) -> e.RunFailed:
        if self._options.show_errors:
            return event
        logger.warning("run %s: the agent failed: %s: %s", self._run_id, event.code, self._redact(event.message))
        return e.RunFailed(event.code, FAILED)


def read(data: bytes) -> Json:
    try:
        raw: Any = msgspec.json.decode(data)
    except JSON_ERRORS as error:
        raise BadEvent(f"The agent sent an event that is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise BadEvent("The agent sent an event that is not a JSON object.")
    return raw


def read_question(raw: Json) -> e.Interrupt:
    """Decode an `on_interrupt` event. LangGraph has used it since before AG-UI had interrupts. CrewAI uses the same
    name for an AG-UI interrupt, which is decoded and answered as one."""
    value, origin = raw.get("value"), raw.get("rawEvent")
    if not origin and isinstance(value, dict) and isinstance(value.get("id"), str) and "reason" in value:
        return read_interrupt(value)
    named = origin.get("id") if isinstance(origin, dict) else None
    message = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    id = new_id("interrupt")
    return e.Interrupt(id, "on_interrupt", message, memo={"kind": LEGACY, "id": named or id, "value": value})
