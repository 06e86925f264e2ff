"""Handles one query of OpenBB Workspace: sends the next queued function call, or starts a run."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, cast

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rightseat.core.ask import Ask, Parameters, Principal
from rightseat.core.errors import InternalError, RightseatError
from rightseat.core.events import Interrupt
from rightseat.core.messages import Message, system
from rightseat.core.model import Prompt
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Tool
from rightseat.faces._shared.queued_start import COMMENT_INTERVAL_S
from rightseat.faces._shared.run_response import KEEP_ALIVE_COMMENT, RunResponse
from rightseat.faces.openbb import replies
from rightseat.faces.openbb.prompt import attachments, context, history
from rightseat.faces.openbb.prompt.files import FileService
from rightseat.faces.openbb.prompt.instructions import write_instructions
from rightseat.faces.openbb.questions import ChatKey, PendingQuestions, QuestionReply
from rightseat.faces.openbb.replies import PendingQuestion
from rightseat.faces.openbb.request.state import (
    CarriedCall,
    InvalidSignature,
    State,
    StateSigner,
    limit_messages,
    limit_skills,
    read_states,
)
from rightseat.faces.openbb.request.types import Query
from rightseat.faces.openbb.response import events
from rightseat.faces.openbb.response.early_stream import PREPARE_GRACE_S, EarlyStream, is_slow
from rightseat.faces.openbb.response.encoder import ResponseEncoder
from rightseat.faces.openbb.response.events import event_response, response_headers
from rightseat.faces.openbb.response.warnings import result_warnings
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.toolbox import SessionToolbox, workspace_functions
from rightseat.faces.openbb.tools import suggestions
from rightseat.faces.openbb.tools.catalog import plan_requests
from rightseat.faces.openbb.tools.functions import StatusStep

if TYPE_CHECKING:
    from rightseat.data.token_budget import OutputBudget

logger = logging.getLogger(__name__)

READING_DATA = StatusStep("Reading the data")

RESERVED_TOOL_TOKENS = 4_096
"""Tokens reserved for the tools of the face and the agent, and for their results."""
MIN_TOOL_DATA_BYTES = 4_096
"""Bytes of data that tools may return at least, however long the conversation is."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits per question. `context_window` is in tokens, `keep_alive` in seconds."""

    max_function_calls: int = 8
    max_model_calls: int = 32
    context_window: int = 32_768
    keep_alive: float = 15.0
    models: tuple[str, ...] = ()
    controls: Mapping[str, str] = field(default_factory=dict)
    """Labels of the operator's custom settings, by name."""


class QueryHandler:
    """Handles the queries of one agent. `answer` builds the session of a request; every other step uses it."""

    def __init__(
        self,
        runtime: Runtime,
        agent: str,
        sessions: SessionToolbox,
        files: FileService,
        signer: StateSigner,
        limits: QueryLimits,
    ) -> None:
        self._runtime = runtime
        self._agent = agent
        self._sessions = sessions
        self._files = files
        self._signer = signer
        self._limits = limits
        self._questions = PendingQuestions()
        self._takes_files = getattr(runtime.find(agent), "takes_files", False)

    async def answer(
        self,
        query: Query,
        principal: Principal,
        headers: Mapping[str, str],
        files_url: str | None = None,
        *,
        interactive: bool = False,
    ) -> Response:
        """`files_url` is the base URL of files. `interactive`: the chat has an id, under which a question is stored."""
        for line in query.skipped:
            logger.info("chat %s: skipped %s", query.trace_id, line)
        ask = Ask(
            messages=(),
            agent=self._agent,
            thread_id=query.trace_id,
            principal=principal,
            headers=headers,
            face="openbb",
            interactive=interactive,
            supports_suggestions=not query.is_legacy and query.is_on(suggestions.OPTION),
        )
        try:
            session = self._open(query, files_url)
        except Exception as error:
            if isinstance(error, InvalidSignature):
                logger.warning("chat %s: %s", query.trace_id, error)
            return event_response([events.chunk(error_text(error, ask.run_id))], query.trace_id)
        if session.last_state is not None and session.last_state.queue:
            return self._send_queued_call(session, session.last_state)
        if self._takes_files and session.last_state is None and (calls := attachments.missing_files(session)):
            return self._request_files(session, calls)
        run, head = partial(self._run, session, ask), response_headers(query.trace_id, ask.run_id)
        has_queues = self._runtime.admission.has_queues
        keep_alive = min(COMMENT_INTERVAL_S, self._limits.keep_alive) if has_queues else self._limits.keep_alive
        if is_slow(query):
            first = KEEP_ALIVE_COMMENT if session.is_legacy else events.status(READING_DATA)
            return EarlyStream(run, head, first, keep_alive, PREPARE_GRACE_S)
        if has_queues:
            return EarlyStream(run, head, KEEP_ALIVE_COMMENT, keep_alive, COMMENT_INTERVAL_S)
        return await run()

    def _open(self, query: Query, files_url: str | None) -> Session:
        """Raises `InvalidSignature`."""
        states = read_states(query, self._signer, self._agent)
        data_bytes = self._limits.context_window * 2  # half of the context window, at 4 bytes per token
        return Session(query, states, self._files, data_bytes, files_url)

    # Without a run

    def _send_queued_call(self, session: Session, last: State) -> Response:
        """Send the next queued function call. The model is called again only after all results have arrived."""
        request = last.queue[0]
        state = msgspec.structs.replace(
            last,
            current=request.answers,
            queue=last.queue[1:],
            earlier_messages=(),
            function_calls=last.function_calls + 1,
        )
        ids = {id for ids in request.answers for id in ids}
        steps = announce_calls(session, [call for call in last.calls if call.id in ids])
        warnings = [events.status(one, "WARNING") for one in result_warnings(session)]
        written = events.call(request.function, request.arguments, self._signer.sign(state))
        return event_response([*([] if session.is_legacy else [*warnings, *steps]), written], session.query.trace_id)

    def _request_files(self, session: Session, calls: Sequence[CarriedCall]) -> Response:
        """Send a function call that reads attached files, for an agent that cannot request them itself."""
        written = self._write_call(session, calls, calls, (), 0)
        return event_response([*announce_calls(session, calls), written], session.query.trace_id)

    # A run

    async def _run(self, session: Session, ask: Ask) -> Response:
        trace_id = session.query.trace_id
        self._sessions.register(ask.run_id, session)
        chat, reply = ChatKey(ask.principal.id, self._agent, trace_id), None
        try:
            reply = self._questions.take_reply(chat, session.query) if ask.interactive else None
            session.catalog.add(workspace_functions(session))
            ask = with_answers(await self._prepare_ask(session, ask), reply)
            await session.index_quotes()
            first = [*result_warnings(session), *map(StatusStep, session.notes)]
            session.release_request()
            await self._runtime.start(ask)
        except BaseException as error:
            await self._sessions.close(ask.run_id)
            if reply is not None:
                self._questions.add(chat, reply.waiting)  # the reply has not reached a run
            if not isinstance(error, Exception):
                raise
            return event_response([events.chunk(error_text(error, ask.run_id))], trace_id)
        wait = partial(self._store_question, chat, ask.messages) if ask.interactive else None
        encoder = ResponseEncoder(session, partial(self._write_call, session), wait)
        warning_events = b"" if session.is_legacy else b"".join(events.status(step, "WARNING") for step in first)
        return QueryResponse(
            self._runtime, ask.run_id, encoder, self._sessions, trace_id, warning_events, self._limits.keep_alive
        )

    async def _prepare_ask(self, session: Session, ask: Ask) -> Ask:
        """Add the conversation, the data and the functions of the session to the ask."""
        query, usage, limits = session.query, session.usage, self._limits
        messages = await history.write_messages(session)
        if self._takes_files:
            messages = await attachments.attach_files(messages, session)
        context_bytes = await context.collect_context(session, limits.controls)
        ask = msgspec.structs.replace(
            ask,
            messages=(system(write_instructions(session)), *messages),
            tools=tuple(function.offer for function in session.catalog.functions.values()),
            parameters=self._parameters(query),
            context=context_bytes,
            properties=context.properties(query) if query.options else {},
            max_turns=1
            if usage.function_calls >= limits.max_function_calls
            else max(limits.max_model_calls - usage.model_calls, 1),
            final_answer_without_tools=True,
            transient=True,
        )
        ask = self._shorten(session, ask) if query.size > limits.context_window else ask
        session.output_budget = self._output_budget(session, ask)
        return ask

    def _parameters(self, query: Query) -> Parameters:
        model = query.options.get("model")
        return Parameters(model=model) if isinstance(model, str) and model in self._limits.models else Parameters()

    def _shorten(self, session: Session, ask: Ask) -> Ask:
        """Shorten a long conversation to the context window, and note it for the user."""
        token_budget = import_module("rightseat.data.token_budget")
        tools = [Tool.offered(offer) for offer in ask.tools]
        context_bytes = sum(token_budget.json_size(fact.description + fact.value) for fact in ask.context)
        budget = token_budget.TokenBudget(
            self._limits.context_window - context_bytes // token_budget.BYTES_PER_TOKEN - RESERVED_TOOL_TOKENS
        )
        fitted = token_budget.fit_prompt(Prompt(ask.messages, tools), budget)
        session.notes += fitted.notes
        return msgspec.structs.replace(ask, messages=fitted.prompt.messages)

    def _output_budget(self, session: Session, ask: Ask) -> "OutputBudget | None":
        """The rest of the context window, for the data that tools return in all turns of this answer together."""
        if session.files.tables is None and not any(source.documents for source in session.sources):
            return None
        token_budget = import_module("rightseat.data.token_budget")
        context_bytes = sum(token_budget.json_size(fact.description + fact.value) for fact in ask.context)
        tools = Prompt(ask.messages, [Tool.offered(offer) for offer in ask.tools])
        budget = token_budget.TokenBudget(
            self._limits.context_window - RESERVED_TOOL_TOKENS // 2
        )  # tool definitions take the other half
        left = budget.bytes - token_budget.prompt_size(tools) - context_bytes
        return cast("OutputBudget", token_budget.OutputBudget(max(left, MIN_TOOL_DATA_BYTES)))

    # Callbacks of the encoder

    def _write_call(
        self,
        session: Session,
        calls: Sequence[CarriedCall],
        waiting: Sequence[CarriedCall],
        earlier_messages: Sequence[Message],
        model_responses: int,
    ) -> bytes:
        """See `encoder.WriteCall`. Calls beyond the limit are dropped; the next prompt reports this to the model."""
        usage = session.usage
        request, *queue = plan_requests(waiting, session.catalog)[
            : self._limits.max_function_calls - usage.function_calls
        ]
        state = State(
            self._agent,
            tuple(calls),
            request.answers,
            tuple(queue),
            limit_messages(earlier_messages),
            usage.model_calls + model_responses,
            usage.function_calls + 1,
            session.query.timezone,
            limit_skills(session.query.selected_skills),
        )
        return events.call(request.function, request.arguments, self._signer.sign(state))

    def _store_question(
        self,
        chat: ChatKey,
        messages: tuple[Message, ...],
        interrupts: Sequence[Interrupt],
        new_messages: Sequence[Message],
    ) -> str | None:
        """See `encoder.StoreQuestion`."""
        if (reply_hint := replies.reply_hint(interrupts)) is not None:
            self._questions.add(chat, PendingQuestion(tuple(interrupts), (*messages, *new_messages)))
        return reply_hint


def announce_calls(session: Session, calls: Sequence[CarriedCall]) -> list[bytes]:
    """Encode the statuses that announce these calls to the user."""
    return [events.status(step) for call in calls if (step := session.catalog.announce(call))]


def with_answers(ask: Ask, reply: QuestionReply | None) -> Ask:
    """Add a person's answers to the ask. The messages of the reply contain the calls that wait for them."""
    if reply is None:
        return ask
    return msgspec.structs.replace(
        ask, messages=ask.messages if reply.messages is None else reply.messages, answers=reply.answers
    )


def error_text(error: Exception, run_id: str) -> str:
    """The text for the chat, since Workspace does not show HTTP errors. Unexpected errors are only logged."""
    if isinstance(error, RightseatError):
        return error.message
    logger.error("run %s could not be started", run_id, exc_info=error)
    return InternalError(run_id).message


class QueryResponse(RunResponse):
    """The streamed response of a run. It closes the session at its end."""

    def __init__(
        self,
        runtime: Runtime,
        run_id: str,
        encoder: ResponseEncoder,
        sessions: SessionToolbox,
        trace_id: str,
        first: bytes,
        keep_alive: float,
    ) -> None:
        super().__init__(runtime, run_id, encoder.feed, headers={}, first=first, keep_alive=keep_alive)
        self.raw_headers = response_headers(trace_id, run_id)
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._sessions.close(self._run_id)
