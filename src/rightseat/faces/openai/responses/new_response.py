"""`POST /responses`: runs an agent or a model, and returns one body, a stream, or a response in the background.

Unless `store` is false the response is kept with its conversation. A client that disconnects cancels its response,
unless it runs in the background.
"""

import time
from collections.abc import Sequence
from contextlib import aclosing

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.agent import is_durable
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.errors import ThreadBusy
from rightseat.core.ids import new_id
from rightseat.core.log import Entry
from rightseat.core.messages import Message
from rightseat.core.runtime import Runtime
from rightseat.core.types import JsonValue
from rightseat.faces._shared.artifact_links import ArtifactLinker, files_url
from rightseat.faces._shared.queued_start import start_connected, stream_started
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_response import DisconnectWatcher, RunResponse, incomplete_run_failure
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.models import ModelNames
from rightseat.faces.openai.responses.conversation_store import ConversationStore
from rightseat.faces.openai.responses.decoder import ResponsesRequest, decode_request, read_response_parameters
from rightseat.faces.openai.responses.encoder import ResponseEventEncoder
from rightseat.faces.openai.responses.input_items import DecodedInput, decode_input, find_references, with_ids
from rightseat.faces.openai.responses.item_references import ReferenceFinder
from rightseat.faces.openai.responses.response_history import (
    HistoryFinder,
    ResponsePlace,
    prefer_client_results,
    write_instructions,
)
from rightseat.faces.openai.responses.response_record import ResponseRecord, build_record
from rightseat.faces.openai.responses.response_store import ResponseStore, response_id, write_artifact
from rightseat.faces.openai.responses.sealed_reasoning import Sealer
from rightseat.faces.openai.warnings import warnings_header

NOT_DURABLE = (
    "`background` needs a durable agent, so that the response survives a restart: write `durable: true` for the agent "
    "{name!r}, or send the request without `background`."
)
NO_STORE = "This server does not store responses, so `store` has no effect: its thread store does not keep artifacts."


class NewResponses:
    """`headers` are forwarded. `path` is that of the face, below which files are served. `max_bytes` is the limit of a
    request with the items that it refers to."""

    def __init__(
        self,
        runtime: Runtime,
        names: ModelNames,
        store: ResponseStore,
        conversations: ConversationStore,
        sealer: Sealer,
        *,
        headers: Sequence[str],
        keep_alive: float,
        path: str,
        max_bytes: int,
    ) -> None:
        self._runtime = runtime
        self._names = names
        self._store = store
        self._sealer = sealer
        self._history = HistoryFinder(runtime, store, conversations)
        self._references = ReferenceFinder(store, conversations, max_bytes)
        self._headers = headers
        self._keep_alive = keep_alive
        self._path = path

    async def create(self, body: bytes, http: Request, principal: Principal) -> Response:
        """Raises a `RightseatError` for an invalid request."""
        request = decode_request(body)
        request.model = self._names.resolve(request.body.model, principal, request.warnings)
        self._check_storage(request)
        references = await self._references.find(find_references(request.body.input), principal)
        place = await self._history.find_place(request, principal)
        decoded = decode_input(
            request.body.input, request.warnings, self._sealer.unseal, calls=place.calls, references=references
        )
        record, ask = await self._build(request, place, decoded, http, principal)
        linker = ArtifactLinker(files_url(http, self._path))
        start = self._start_or_branch(record, ask, place)
        if request.body.stream:
            return await stream_started(
                self._runtime, http, ask, start, lambda ask: self._stream(complete_record(record, ask), ask, linker)
            )
        ask = await start_connected(self._runtime, http, start)
        return await self._respond(complete_record(record, ask), ask, http, linker)

    async def _start_or_branch(self, record: ResponseRecord, ask: Ask, place: ResponsePlace) -> Ask:
        try:
            return await self._start(record, ask)
        except ThreadBusy:
            if place.is_new or ask.answers or record.conversation:
                raise
            place = place.branch()  # another response has continued the same one meanwhile
            record = msgspec.structs.replace(record, thread_id=place.thread_id)
            return await self._start(record, msgspec.structs.replace(ask, thread_id=place.thread_id))

    def _check_storage(self, request: ResponsesRequest) -> None:
        body = request.body
        if body.background and not is_durable(self._runtime.find(request.model)):
            raise InvalidRequest(NOT_DURABLE.format(name=request.model), "background")
        if request.is_stored and not self._store.is_available:
            if body.store:
                request.warnings.append(NO_STORE)
            body.store = False

    async def _build(
        self,
        request: ResponsesRequest,
        place: ResponsePlace,
        decoded: DecodedInput,
        http: Request,
        principal: Principal,
    ) -> tuple[ResponseRecord, Ask]:
        run_id = new_id("run")
        record = build_record(request, response_id(run_id), int(time.time()))
        answers: tuple[Answer, ...] = ()
        if decoded.approvals:
            answers, answered = await self._history.read_answers(
                decoded.approvals, place.thread_id, request.model, principal
            )
            record = msgspec.structs.replace(record, answered=answered)
        record = msgspec.structs.replace(
            record,
            thread_id=place.thread_id,
            start=place.start,
            input=tuple(with_ids(decoded.items, record.suffix)),
            warnings=tuple(request.warnings),
        )
        new = decoded.messages[decoded.before_approvals :] if place.repeats_input else decoded.messages
        sent: dict[str, JsonValue] = {"user": request.body.user, "metadata": dict(record.metadata) or None}
        ask = Ask(
            messages=(*self._instructions(request), *prefer_client_results((*place.messages, *new))),
            agent=request.model,
            thread_id=place.thread_id,
            run_id=run_id,
            principal=principal,
            tools=request.offers,
            parameters=read_response_parameters(request),
            properties={name: value for name, value in sent.items() if value is not None},
            headers={one: value for one in self._headers if (value := http.headers.get(one)) is not None},
            answers=answers,
            face="openai",
            max_turns=None if self._names.is_agent(request.model) else 1,
            transient=not record.store,
        )
        return record, ask

    async def _start(self, record: ResponseRecord, ask: Ask) -> Ask:
        """The record is stored before the run starts, so a response has one even if the server is killed."""
        if not record.store:
            return await self._runtime.start(ask)
        return await self._runtime.start(ask, lambda ask: write_artifact(complete_record(record, ask)))

    def _instructions(self, request: ResponsesRequest) -> tuple[Message, ...]:
        text = request.body.instructions
        return (write_instructions(text),) if text else ()

    def _stream(self, record: ResponseRecord, ask: Ask, linker: ArtifactLinker) -> RunResponse:
        encoder = ResponseEventEncoder(record, self._sealer.seal, is_immediate=record.background)
        return RunResponse(
            self._runtime,
            ask.run_id,
            lambda entries: encoder.feed(linker.expand_entries(entries)),
            headers=encoder.headers,
            refusal=None if record.background else encoder.refusal,
            keep_alive=self._keep_alive,
            cancel_on_disconnect=not record.background,
        )

    async def _respond(self, record: ResponseRecord, ask: Ask, http: Request, linker: ArtifactLinker) -> Response:
        encoder = ResponseEventEncoder(record, self._sealer.seal, writes=False)
        if not record.background:
            await self._run_to_end(encoder, ask, http, linker)
        if encoder.failure:
            return encoder.failure.response(encoder.warnings)
        return json_response(encoder.response(), headers=warnings_header(encoder.warnings))

    async def _run_to_end(self, encoder: ResponseEventEncoder, ask: Ask, http: Request, linker: ArtifactLinker) -> None:
        runtime = self._runtime
        async with (
            DisconnectWatcher(runtime, ask.run_id, http.receive),
            aclosing(runtime.follow(ask.run_id)) as batches,
        ):
            async for entries in batches:
                encoder.feed(linker.expand_entries(entries))
        if not encoder.is_finished:
            encoder.feed([Entry(0, 0, incomplete_run_failure(ask.run_id))])


def complete_record(record: ResponseRecord, ask: Ask) -> ResponseRecord:
    """With what is known once the run has started: its thread, and the model that a limit has chosen."""
    used = ask.downgrade.model if ask.downgrade else ""
    return msgspec.structs.replace(record, thread_id=ask.thread_id, used_model=used)
