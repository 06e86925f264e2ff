"""`POST /responses`: runs an agent or a model, and returns one body, a stream, or a response in the background.

Unless `store` is false the response is kept with its conversation. A client that disconnects cancels its response,
unless it runs in the background.
"""

import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.agent import is_durable
from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import ThreadBusy
from rightseat.core.ids import new_id
from rightseat.core.log import Entry
from rightseat.core.runtime import Runtime
from rightseat.core.turns import take_turn
from rightseat.faces._shared.artifact_links import ArtifactLinker, files_url
from rightseat.faces._shared.model_names import ModelNames
from rightseat.faces._shared.queued_start import start_connected, stream_started
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_response import DisconnectWatcher, RunResponse, incomplete_run_failure
from rightseat.faces._shared.run_warnings import warnings_header
from rightseat.faces._shared.sealed_reasoning import Sealer
from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.responses.conversation_store import ConversationStore
from rightseat.faces.openai.responses.decoder import ResponsesRequest, decode_request
from rightseat.faces.openai.responses.encoder import ResponseEventEncoder
from rightseat.faces.openai.responses.input_items import DecodedInput, decode_input, find_references, with_ids
from rightseat.faces.openai.responses.item_references import ReferenceFinder
from rightseat.faces.openai.responses.response_history import HistoryFinder, ResponsePlace
from rightseat.faces.openai.responses.response_plan import ResponsePlan
from rightseat.faces.openai.responses.response_record import ResponseRecord
from rightseat.faces.openai.responses.response_store import ResponseStore, write_artifact

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
        await take_turn()
        decoded = decode_input(
            request.body.input, request.warnings, self._sealer.unseal, calls=place.calls, references=references
        )
        plan = await self._plan(request, place, decoded, principal)
        headers = {name: value for name in self._headers if (value := http.headers.get(name)) is not None}
        ask = plan.build_ask(principal, headers, None if self._names.is_agent(request.model) else 1)
        linker = ArtifactLinker(files_url(http, self._path))
        start = self._start_or_branch(plan, ask)
        if request.body.stream:
            return await stream_started(
                self._runtime, http, ask, start, lambda ask: self._stream(plan.build_record(ask), ask, linker)
            )
        ask = await start_connected(self._runtime, http, start)
        return await self._respond(plan.build_record(ask), ask, http, linker)

    async def _plan(
        self, request: ResponsesRequest, place: ResponsePlace, decoded: DecodedInput, principal: Principal
    ) -> ResponsePlan:
        run_id = new_id("run")
        items = tuple(with_ids(decoded.items, run_id.removeprefix("run_")))
        plan = ResponsePlan(request, place, decoded, items, run_id, int(time.time()))
        if not decoded.approvals:
            return plan
        answers, answered = await self._history.read_answers(
            decoded.approvals, place.thread_id, request.model, principal
        )
        return replace(plan, answers=answers, answered=answered)

    async def _start_or_branch(self, plan: ResponsePlan, ask: Ask) -> Ask:
        try:
            return await self._start(plan, ask)
        except ThreadBusy:
            if plan.place.is_new or ask.answers or plan.request.conversation:
                raise
            # Another response has continued the same one meanwhile.
            return await self._start(plan, msgspec.structs.replace(ask, thread_id=new_id("thread")))

    async def _start(self, plan: ResponsePlan, ask: Ask) -> Ask:
        """The record is stored before the run starts, so a response has one even if the server is killed."""
        if ask.transient:
            return await self._runtime.start(ask)
        return await self._runtime.start(ask, lambda ask: write_artifact(plan.build_record(ask)))

    def _check_storage(self, request: ResponsesRequest) -> None:
        body = request.body
        if body.background and not is_durable(self._runtime.find(request.model)):
            raise InvalidRequest(NOT_DURABLE.format(name=request.model), "background")
        if request.is_stored and not self._store.is_available:
            if body.store:
                request.warnings.append(NO_STORE)
            body.store = False

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
