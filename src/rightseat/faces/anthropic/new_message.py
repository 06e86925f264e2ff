"""`POST /v1/messages`: runs an agent or a model, and returns one message or a stream.

The run is cancelled when its client disconnects: the protocol cannot resume a stream.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Ask, Principal
from rightseat.core.log import Entry
from rightseat.core.model import Prompt
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.faces._shared.artifact_links import ArtifactLinker, files_url
from rightseat.faces._shared.model_names import ModelNames
from rightseat.faces._shared.queued_start import start_connected, stream_started
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_response import DisconnectWatcher, RunResponse, incomplete_run_failure
from rightseat.faces._shared.run_warnings import warnings_header
from rightseat.faces.anthropic.content_blocks import read_messages
from rightseat.faces.anthropic.error_form import InvalidMessagesRequest, request_id_header
from rightseat.faces.anthropic.reply_encoder import PING, Reply, StreamEncoder, WholeEncoder
from rightseat.faces.anthropic.reply_reader import ReplyOptions
from rightseat.faces.anthropic.request_body import MessagesRequest, decode_messages, read_parameters
from rightseat.faces.anthropic.signatures import ThinkingSeal
from rightseat.limits.estimate import measure_prompt

PREFILL = (
    "messages: the last message is the assistant's. This server does not continue one: end with a message of the user."
)


class NewMessages:
    """`headers` are forwarded. `path` is that of the face, below which files are served."""

    def __init__(
        self,
        runtime: Runtime,
        names: ModelNames,
        seal: ThinkingSeal,
        *,
        headers: Sequence[str],
        keep_alive: float,
        path: str,
    ) -> None:
        self._runtime = runtime
        self._names = names
        self._seal = seal
        self._headers = headers
        self._keep_alive = keep_alive
        self._path = path

    async def create(self, body: bytes, http: Request, principal: Principal) -> Response:
        """Raises a `RightseatError` for an invalid request."""
        request = decode_messages(body, read_betas(http))
        request.model = self._names.resolve(request.body.model, principal, request.warnings)
        ask = self._read_ask(request, http, principal)
        linker = ArtifactLinker(files_url(http, self._path))
        start = self._runtime.start(ask)
        if request.body.stream:
            respond = partial(self._stream, request, linker)
            return await stream_started(self._runtime, http, ask, start, respond, PING)
        return await self._respond(request, await start_connected(self._runtime, http, start), http, linker)

    async def count(self, body: bytes, http: Request, principal: Principal) -> Response:
        """`POST /v1/messages/count_tokens`: an estimate, with the tools and the system prompt of the request."""
        request = decode_messages(body, read_betas(http), needs_max_tokens=False)
        request.model = self._names.resolve(request.body.model, principal, request.warnings)
        counted = estimate_input(self._read_ask(request, http, principal, is_counted=True))
        return json_response({"input_tokens": counted}, headers=warnings_header(request.warnings))

    def _read_ask(
        self, request: MessagesRequest, http: Request, principal: Principal, *, is_counted: bool = False
    ) -> Ask:
        if not request.body.messages:
            raise InvalidMessagesRequest("messages: the list is empty.")
        messages = read_messages(request, self._seal.open)
        if messages[-1].role == "assistant" and not is_counted:
            raise InvalidMessagesRequest(PREFILL)
        sent: dict[str, JsonValue] = {"metadata": request.body.metadata} if request.body.metadata else {}
        return Ask(
            messages=messages,
            agent=request.model,
            principal=principal,
            tools=request.tools,
            parameters=read_parameters(request),
            properties=sent,
            headers={name: value for name in self._headers if (value := http.headers.get(name)) is not None},
            face="anthropic",
            max_turns=None if self._names.is_agent(request.model) else 1,
            transient=True,
        )

    def _build_reply(self, request: MessagesRequest, ask: Ask) -> Reply:
        options = ReplyOptions(
            frozenset(tool.name for tool in ask.tools),
            self._seal.sign,
            shows_thinking=request.shown_thinking != "none",
            omits_thinking=request.shown_thinking == "omitted",
            shows_server_tools=request.knows_server_tools,
            stop_sequences=tuple(request.body.stop_sequences or ()),
        )
        model = ask.downgrade.model if ask.downgrade else request.given_model
        return Reply(message_id(ask.run_id), model, options, estimate_input(ask), request.warnings)

    def _stream(self, request: MessagesRequest, linker: ArtifactLinker, ask: Ask) -> RunResponse:
        reply = self._build_reply(request, ask)
        reply.on_stop = self._cancel_later(ask)
        encoder = StreamEncoder(reply)
        return RunResponse(
            self._runtime,
            ask.run_id,
            lambda entries: encoder.feed(linker.expand_entries(entries)),
            headers=encoder.headers,
            first=encoder.first(),
            refusal=encoder.refusal,
            keep_alive=self._keep_alive,
            comment=PING,
        )

    async def _respond(self, request: MessagesRequest, ask: Ask, http: Request, linker: ArtifactLinker) -> Response:
        runtime, encoder = self._runtime, WholeEncoder(self._build_reply(request, ask))
        encoder.reply.on_stop = self._cancel_later(ask)
        async with (
            DisconnectWatcher(runtime, ask.run_id, http.receive),
            aclosing(runtime.follow(ask.run_id)) as batches,
        ):
            async for entries in batches:
                encoder.feed(linker.expand_entries(entries))
        if not encoder.is_finished:
            encoder.feed([Entry(0, 0, incomplete_run_failure(ask.run_id))])
        headers = warnings_header(encoder.reply.warnings)
        if encoder.failure:
            return encoder.failure.response(headers)
        return json_response(encoder.message(), headers={**headers, **request_id_header()})

    def _cancel_later(self, ask: Ask) -> Callable[[], None]:
        """Stops a model whose answer has ended at a stop sequence. Its stream must not wait for that."""

        def cancel() -> None:
            task = asyncio.ensure_future(self._runtime.cancel(ask.run_id))
            CANCELLATIONS.add(task)
            task.add_done_callback(CANCELLATIONS.discard)

        return cancel


CANCELLATIONS: set[asyncio.Future[bool]] = set()
"""A task that nothing refers to may be collected before it ends."""


def read_betas(http: Request) -> tuple[str, ...]:
    return tuple(name.strip() for name in http.headers.get("anthropic-beta", "").split(","))


def estimate_input(ask: Ask) -> int:
    return measure_prompt(Prompt(ask.messages, tuple(map(Tool.offered, ask.tools)), ask.parameters)).tokens


def message_id(run_id: str) -> str:
    return f"msg_{run_id.removeprefix('run_')}"
