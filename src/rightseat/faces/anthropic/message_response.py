"""Writes the reply of one request, as a stream or as one message, while its runs go on.

A run is cancelled when its client disconnects: the protocol cannot resume a stream.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Ask, Principal
from rightseat.core.log import Entry
from rightseat.core.model import Prompt
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Pending
from rightseat.core.tools import Tool
from rightseat.faces._shared.artifact_links import ArtifactLinker
from rightseat.faces._shared.queued_start import RunStart, start_connected, stream_started
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_response import DisconnectWatcher, RunResponse, incomplete_run_failure
from rightseat.faces._shared.run_warnings import warnings_header
from rightseat.faces.anthropic.error_form import message_id, request_id_header
from rightseat.faces.anthropic.followed_runs import FollowedRuns
from rightseat.faces.anthropic.paused_calls import PausedCalls
from rightseat.faces.anthropic.reply_encoder import PING, Reply, ReplyEncoder, StreamEncoder, WholeEncoder
from rightseat.faces.anthropic.reply_reader import ReplyOptions
from rightseat.faces.anthropic.request_body import MessagesRequest
from rightseat.faces.anthropic.signatures import ThinkingSeal
from rightseat.limits.estimate import measure_prompt


@dataclass(slots=True)
class MessageExchange:
    """A request and its client. `paused` are the calls of an earlier reply that it goes on with, see `ReplyOptions`."""

    request: MessagesRequest
    http: Request
    principal: Principal
    linker: ArtifactLinker
    paused: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class MessageResponder:
    """`approval_wait` is how many seconds a run that asks a person waits for the decision."""

    def __init__(
        self, runtime: Runtime, seal: ThinkingSeal, paused: PausedCalls, *, keep_alive: float, approval_wait: float
    ) -> None:
        self._runtime = runtime
        self._seal = seal
        self._paused = paused
        self._keep_alive = keep_alive
        self._approval_wait = approval_wait

    async def start(self, exchange: MessageExchange, ask: Ask, start: RunStart) -> Response:
        """The reply of a new run. Raises what `start` raises."""
        if exchange.request.body.stream:

            def respond(started: Ask) -> RunResponse:
                return self._stream(exchange, started, started.run_id)

            return await stream_started(self._runtime, exchange.http, ask, start, respond, PING)
        started = await start_connected(self._runtime, exchange.http, start)
        return await self._respond(exchange, started, started.run_id)

    async def go_on(self, exchange: MessageExchange, ask: Ask, run_id: str, asked: Sequence[Pending] = ()) -> Response:
        """The reply of a run that was started elsewhere, or of one that still waits for the answers to `asked`."""
        if exchange.request.body.stream:
            return self._stream(exchange, ask, run_id, asked)
        return await self._respond(exchange, ask, run_id, asked)

    def _build_reply(self, exchange: MessageExchange, ask: Ask) -> Reply:
        request = exchange.request
        options = ReplyOptions(
            frozenset(tool.name for tool in ask.tools),
            self._seal.sign,
            shows_thinking=request.shown_thinking != "none",
            omits_thinking=request.shown_thinking == "omitted",
            shows_server_tools=request.knows_server_tools,
            has_unlisted_tools=ask.has_unlisted_tools,
            stop_sequences=tuple(request.body.stop_sequences or ()),
            paused=exchange.paused,
        )
        model = ask.downgrade.model if ask.downgrade else request.given_model
        return Reply(message_id(ask.run_id), model, options, estimate_input(ask), request.warnings)

    def _follow(
        self, exchange: MessageExchange, ask: Ask, encoder: ReplyEncoder, run_id: str, asked: Sequence[Pending]
    ) -> FollowedRuns:
        runs = FollowedRuns(
            self._runtime,
            ask,
            self._paused,
            encoder.reader,
            self._approval_wait,
            run_id,
            asked=asked,
            pauses=exchange.request.knows_server_tools,
            is_temporary=ask.transient,
        )
        encoder.reply.on_stop = cancel_later(runs)
        return runs

    def _stream(self, exchange: MessageExchange, ask: Ask, run_id: str, asked: Sequence[Pending] = ()) -> RunResponse:
        encoder = StreamEncoder(self._build_reply(exchange, ask))
        linker = exchange.linker
        return RunResponse(
            self._follow(exchange, ask, encoder, run_id, asked),
            ask.run_id,
            lambda entries: encoder.feed(linker.expand_entries(entries)),
            headers=encoder.headers,
            first=encoder.first(),
            refusal=encoder.refusal,
            keep_alive=self._keep_alive,
            comment=PING,
        )

    async def _respond(
        self, exchange: MessageExchange, ask: Ask, run_id: str, asked: Sequence[Pending] = ()
    ) -> Response:
        encoder = WholeEncoder(self._build_reply(exchange, ask))
        runs = self._follow(exchange, ask, encoder, run_id, asked)
        async with (
            DisconnectWatcher(runs, ask.run_id, exchange.http.receive),
            aclosing(runs.follow(ask.run_id)) as batches,
        ):
            async for entries in batches:
                encoder.feed(exchange.linker.expand_entries(entries))
        if not encoder.is_finished:
            encoder.feed([Entry(0, 0, incomplete_run_failure(ask.run_id))])
        headers = warnings_header(encoder.reply.warnings)
        if encoder.failure:
            return encoder.failure.response(headers)
        return json_response(encoder.message(), headers={**headers, **request_id_header()})


def cancel_later(runs: FollowedRuns) -> Callable[[], None]:
    """Stops a model whose answer has ended at a stop sequence. Its stream must not wait for that."""

    def cancel() -> None:
        task = asyncio.ensure_future(runs.cancel(runs.run_id))
        CANCELLATIONS.add(task)
        task.add_done_callback(CANCELLATIONS.discard)

    return cancel


CANCELLATIONS: set[asyncio.Future[bool]] = set()
"""A task that nothing refers to may be collected before it ends."""


def estimate_input(ask: Ask) -> int:
    return measure_prompt(build_prompt(ask)).tokens


def build_prompt(ask: Ask) -> Prompt:
    """That of a model without an agent."""
    return Prompt(ask.messages, tuple(map(Tool.offered, ask.tools)), ask.parameters)
