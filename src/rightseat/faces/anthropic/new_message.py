"""`POST /v1/messages`: decides what a request runs, and starts it.

Nearly all requests bring their whole conversation and are stored nowhere. A request can instead continue a kept thread,
belong to a session of Claude Code, or go on with a reply that waits for a person.
"""

from collections.abc import Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Ask, Principal
from rightseat.core.errors import ThreadBusy
from rightseat.core.ids import new_id
from rightseat.core.model import CountsPrompts
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.artifact_links import ArtifactLinker, files_url
from rightseat.faces._shared.model_names import ModelNames
from rightseat.faces._shared.responses import json_response
from rightseat.faces._shared.run_warnings import warnings_header
from rightseat.faces.anthropic.content_blocks import SentMessages, read_messages, read_system
from rightseat.faces.anthropic.error_form import InvalidMessagesRequest
from rightseat.faces.anthropic.followed_runs import find_next_run
from rightseat.faces.anthropic.kept_threads import KeptThreads, MessagePlace, mark_system, reuse_messages
from rightseat.faces.anthropic.message_response import MessageExchange, MessageResponder, build_prompt, estimate_input
from rightseat.faces.anthropic.paused_calls import PausedCall, PausedCalls, build_answers, unknown_question
from rightseat.faces.anthropic.request_body import MessagesRequest, decode_messages, read_parameters
from rightseat.faces.anthropic.signatures import ThinkingSeal
from rightseat.turns import take_turn

PREFILL = (
    "messages: the last message is the assistant's. This server does not continue one: end with a message of the user."
)
EMPTY = "messages: the list is empty."
SEVERAL_REPLIES = "The calls that wait are of several replies. Decide about those of one reply at a time."


class NewMessages:
    """`headers` are forwarded. `path` is that of the face, below which files are served."""

    def __init__(
        self,
        runtime: Runtime,
        names: ModelNames,
        seal: ThinkingSeal,
        threads: KeptThreads,
        *,
        headers: Sequence[str],
        keep_alive: float,
        approval_wait: float,
        path: str,
    ) -> None:
        self._runtime = runtime
        self._names = names
        self._seal = seal
        self._threads = threads
        self._paused = PausedCalls(runtime)
        self._responder = MessageResponder(
            runtime, seal, self._paused, keep_alive=keep_alive, approval_wait=approval_wait
        )
        self._headers = headers
        self._path = path

    async def create(self, body: bytes, http: Request, principal: Principal) -> Response:
        """Raises a `RightseatError` for an invalid request."""
        request = decode_messages(body, read_betas(http))
        request.model = self._names.resolve(request.body.model, principal, request.warnings)
        exchange = MessageExchange(request, http, principal, ArtifactLinker(files_url(http, self._path)))
        place = await self._threads.find_place(request, http, principal)
        if not request.body.messages and place.run_id:
            return await self._wait_again(exchange, place)
        await take_turn()
        sent = self._read(request, place)
        if sent.waiting and (sent.is_sent_back or sent.decisions):
            return await self._resume(exchange, sent)
        if sent.is_sent_back:
            raise InvalidMessagesRequest(PREFILL)
        for id in sent.waiting:
            await self._paused.abandon(id, principal, request.model)
        ask = self._build_ask(exchange, sent, place)
        return await self._responder.start(exchange, ask, self._start_or_branch(place, ask))

    async def count(self, body: bytes, http: Request, principal: Principal) -> Response:
        """`POST /v1/messages/count_tokens`, with the tools and the system prompt of the request. A model that can count
        does so; all else is an estimate."""
        request = decode_messages(body, read_betas(http), needs_max_tokens=False)
        request.model = self._names.resolve(request.body.model, principal, request.warnings)
        exchange = MessageExchange(request, http, principal, ArtifactLinker(None))
        place = await self._threads.find_place(request, http, principal)
        await take_turn()
        ask = self._build_ask(exchange, self._read(request, place), place)
        counted = await self._count_exactly(ask)
        if counted is None:
            counted = estimate_input(ask)
        return json_response({"input_tokens": counted}, headers=warnings_header(request.warnings))

    async def _count_exactly(self, ask: Ask) -> int | None:
        """Agents have instructions and tools of their own, which only a run adds."""
        model: object = None if self._names.is_agent(ask.agent) else self._runtime.models.get(ask.agent)
        return await model.count_prompt(build_prompt(ask)) if isinstance(model, CountsPrompts) else None

    def _read(self, request: MessagesRequest, place: MessagePlace) -> SentMessages:
        if not request.body.messages:
            raise InvalidMessagesRequest(EMPTY)
        if request.inherits_tools:
            request.tools = place.tools
            request.choose_tool()
        return read_messages(request, self._seal.open, place.waiting_calls)

    def _build_ask(self, exchange: MessageExchange, sent: SentMessages, place: MessagePlace) -> Ask:
        model = exchange.request.model
        system = tuple(read_system(exchange.request))
        if place.has_record:
            system = mark_system(system) or place.system
        messages, truncate_at = (*system, *place.history, *sent.messages), place.truncate_at
        if place.stored:
            messages, truncate_at = reuse_messages(messages, place.stored)
        is_agent = self._names.is_agent(model)
        ask = Ask(
            messages=messages,
            agent=model,
            thread_id=place.thread_id,
            max_turns=None if is_agent else 1,
            transient=not place.is_stored,
            truncate_at=truncate_at,
        )
        return self._fill(exchange, ask if place.is_stored else self._store_nothing(ask))

    def _fill(self, exchange: MessageExchange, ask: Ask) -> Ask:
        request, http = exchange.request, exchange.http
        return msgspec.structs.replace(
            ask,
            principal=exchange.principal,
            tools=request.tools,
            parameters=read_parameters(request),
            properties={"metadata": request.body.metadata} if request.body.metadata else {},
            headers={name: value for name in self._headers if (value := http.headers.get(name)) is not None},
            face="anthropic",
            has_unlisted_tools=request.has_unlisted_tools,
        )

    def _store_nothing(self, ask: Ask) -> Ask:
        """But the questions of an agent, which an operator can answer while the client waits."""
        is_agent = self._names.is_agent(ask.agent)
        return msgspec.structs.replace(ask, transient=True, interactive=is_agent, stores_questions=is_agent)

    async def _start_or_branch(self, place: MessagePlace, ask: Ask) -> Ask:
        """Another request may have the thread. A reply that is continued twice branches. Claude Code sends requests
        beside the one of its session, which are not stored then."""
        try:
            return await self._start(place, ask)
        except ThreadBusy:
            if not place.is_stored or (place.has_record and place.is_new):
                raise
            ask = msgspec.structs.replace(ask, thread_id=new_id("thread"), truncate_at=None)
            return await self._start(place, ask if place.has_record else self._store_nothing(ask))

    async def _start(self, place: MessagePlace, ask: Ask) -> Ask:
        if not place.has_record:
            return await self._runtime.start(ask)
        return await self._runtime.start(ask, lambda ask: self._threads.write_record(place, ask))

    async def _resume(self, exchange: MessageExchange, sent: SentMessages) -> Response:
        """The client sends back a reply that waits for a person: with the decisions, or as it is."""
        principal = exchange.principal
        ids = [id for id in sent.waiting if not sent.decisions or id in sent.decisions]
        found = {id: await self._paused.find(id, principal, exchange.request.model) for id in ids}
        first = found[ids[0]]
        if any(one.run_id != first.run_id for one in found.values()):
            raise InvalidMessagesRequest(SEVERAL_REPLIES)
        exchange.paused = {one.call_id: (one.name, id) for id, one in found.items()}
        ask = self._fill(exchange, Ask(messages=(), agent=first.agent, thread_id=first.thread_id))
        if sent.decisions:
            ask = await self._decide(ask, found, sent)
            return await self._responder.start(exchange, ask, self._runtime.start(ask))
        if pending := await self._paused.pending(first, principal):
            return await self._responder.go_on(exchange, ask, first.run_id, pending)
        following = await find_next_run(self._runtime, first.thread_id, first.run_id, principal)
        if following is None:
            raise unknown_question(ids[0])
        return await self._responder.go_on(exchange, ask, following)

    async def _wait_again(self, exchange: MessageExchange, place: MessagePlace) -> Response:
        """A request without messages goes on with the reply of its thread that waits for a person."""
        principal, model = exchange.principal, exchange.request.model
        ask = self._fill(exchange, Ask(messages=(), agent=model, thread_id=place.thread_id))
        pending = [one for one in await self._runtime.pending(principal, place.thread_id) if one.agent == model]
        if pending:
            return await self._responder.go_on(exchange, ask, pending[0].run_id, pending)
        following = await find_next_run(self._runtime, place.thread_id, place.run_id, principal)
        if following is None:
            raise InvalidMessagesRequest(EMPTY)
        return await self._responder.go_on(exchange, ask, following)

    async def _decide(self, ask: Ask, found: dict[str, PausedCall], sent: SentMessages) -> Ask:
        """Raises `InvalidMessagesRequest` if the question is not open any more."""
        first = next(iter(found.values()))
        pending = await self._paused.pending(first, ask.principal)
        thread = await self._runtime.settled(first.thread_id, ask.principal)
        if not pending or thread is None:
            raise unknown_question(next(iter(found)))
        decisions = {one.call_id: sent.decisions[id] for id, one in found.items()}
        return msgspec.structs.replace(ask, messages=thread.messages, answers=build_answers(pending, decisions))


def read_betas(http: Request) -> tuple[str, ...]:
    return tuple(name.strip() for name in http.headers.get("anthropic-beta", "").split(","))
