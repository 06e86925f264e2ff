"""One request of Workspace, answered: with the next of a queue of function calls, or with a run."""

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
from rightseat.faces.openbb import attached, context, events, history, replies, suggesting, warning
from rightseat.faces.openbb.asking import Query
from rightseat.faces.openbb.calls import plan
from rightseat.faces.openbb.carrying import bounded, bounded_skills, read_states
from rightseat.faces.openbb.files import Library
from rightseat.faces.openbb.functions import Step
from rightseat.faces.openbb.instructing import instructions
from rightseat.faces.openbb.opening import Opening, takes_time
from rightseat.faces.openbb.questions import Chat, Questions, Reply
from rightseat.faces.openbb.replies import Waiting
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.state import FalseState, Made, Seal, State
from rightseat.faces.openbb.telling import head, told
from rightseat.faces.openbb.toolbox import Sessions, workspace_functions
from rightseat.faces.openbb.writing import Writer
from rightseat.faces.streaming import COMMENT, RunResponse

if TYPE_CHECKING:
    from rightseat.data.fitting import Room

logger = logging.getLogger(__name__)

READING = Step("Reading the data")

OUR_TOOLS = 4_096
"""Tokens that are kept free for the tools of the face and the agent, and for what they say."""


LEAST_ROOM = 4_096
"""Bytes that tools may say of the data, however long the conversation is."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many function calls and requests to the model a question may lead to, and how many tokens the model reads."""

    calls: int = 8
    requests: int = 32
    window: int = 32_768
    keep_alive: float = 15.0
    models: tuple[str, ...] = ()
    controls: Mapping[str, str] = field(default_factory=dict)
    """The operator's own settings that a user may change: what each is called."""


class Answering:
    """Answers for one agent. `answer` builds the session of a request; every other step takes it from there."""

    def __init__(
        self, runtime: Runtime, agent: str, sessions: Sessions, library: Library, seal: Seal, limits: Limits
    ) -> None:
        self._runtime = runtime
        self._agent = agent
        self._sessions = sessions
        self._library = library
        self._seal = seal
        self._limits = limits
        self._questions = Questions()
        self._takes_files = getattr(runtime.find(agent), "takes_files", False)

    async def answer(
        self,
        query: Query,
        principal: Principal,
        headers: Mapping[str, str],
        files_url: str | None = None,
        *,
        attended: bool = False,
    ) -> Response:
        """`files_url` is the address below which files are fetched. `attended`: the chat has a name, under which a
        question to its user can be kept."""
        for line in query.left_out:
            logger.info("chat %s: left out %s", query.trace_id, line)
        ask = Ask(
            messages=(),
            agent=self._agent,
            thread_id=query.trace_id,
            principal=principal,
            headers=headers,
            attended=attended,
            supports_suggestions=not query.legacy and query.is_on(suggesting.OPTION),
        )
        try:
            session = self._open(query, files_url)
        except Exception as error:
            if isinstance(error, FalseState):
                logger.warning("chat %s: %s", query.trace_id, error)
            return told([events.chunk(said_of(error, ask.run_id))], query.trace_id)
        if session.last is not None and session.last.queue:
            return self._next(session, session.last)
        if self._takes_files and session.last is None and (calls := attached.missing(session)):
            return self._fetch(session, calls)
        if not takes_time(query):
            return await self._run(session, ask)
        first = COMMENT if session.legacy else events.status(READING)
        run = partial(self._run, session, ask)
        return Opening(run, head(query.trace_id, ask.run_id), first, self._limits.keep_alive)

    def _open(self, query: Query, files_url: str | None) -> Session:
        """Raises `FalseState`."""
        states = read_states(query, self._seal, self._agent)
        data_bytes = self._limits.window * 2  # half of what the model can read
        return Session(query, states, self._library, data_bytes, files_url)

    # Without a run

    def _next(self, session: Session, last: State) -> Response:
        """The next of a queue of function calls: the model is asked again only when all results are there."""
        request = last.queue[0]
        state = msgspec.structs.replace(last, now=request.answers, queue=last.queue[1:], before=(), made=last.made + 1)
        ids = {id for ids in request.answers for id in ids}
        steps = announced(session, [call for call in last.calls if call.id in ids])
        warnings = [events.status(one, "WARNING") for one in warning.warnings(session)]
        written = events.call(request.function, request.arguments, self._seal.close(state))
        return told([*([] if session.legacy else [*warnings, *steps]), written], session.query.trace_id)

    def _fetch(self, session: Session, calls: Sequence[Made]) -> Response:
        """A function call that reads attached files, for an agent that cannot ask for them itself."""
        written = self._write_call(session, calls, calls, (), 0)
        return told([*announced(session, calls), written], session.query.trace_id)

    # A run

    async def _run(self, session: Session, ask: Ask) -> Response:
        trace_id = session.query.trace_id
        self._sessions.put(ask.run_id, session)
        chat, reply = Chat(ask.principal.id, self._agent, trace_id), None
        try:
            reply = self._questions.take(chat, session.query) if ask.attended else None
            session.catalogue.add(workspace_functions(session))
            ask = answering(await self._prepared(session, ask), reply)
            await session.prepare_quotes()
            first = [*warning.warnings(session), *map(Step, session.notes)]
            session.release_request()
            await self._runtime.start(ask)
        except BaseException as error:
            await self._sessions.clear(ask.run_id)
            if reply is not None:
                self._questions.keep(chat, reply.waiting)  # the answer has not reached a run
            if not isinstance(error, Exception):
                raise
            return told([events.chunk(said_of(error, ask.run_id))], trace_id)
        wait = partial(self._wait, chat, ask.messages) if ask.attended else None
        writer = Writer(session, partial(self._write_call, session), wait)
        warned = b"" if session.legacy else b"".join(events.status(step, "WARNING") for step in first)
        return Answer(self._runtime, ask.run_id, writer, self._sessions, trace_id, warned, self._limits.keep_alive)

    async def _prepared(self, session: Session, ask: Ask) -> Ask:
        """The ask with the conversation, the data and the functions of the session."""
        query, spent, limits = session.query, session.spent, self._limits
        messages = await history.write(session)
        if self._takes_files:
            messages = await attached.beside(messages, session)
        facts = await context.of(session, limits.controls)
        ask = msgspec.structs.replace(
            ask,
            messages=(system(instructions(session)), *messages),
            tools=tuple(function.offer for function in session.catalogue.functions.values()),
            parameters=self._parameters(query),
            context=facts,
            properties=context.properties(query) if query.options else {},
            rounds=1 if spent.made >= limits.calls else max(limits.requests - spent.asked, 1),
            conclude=True,
            transient=True,
        )
        ask = self._fitted(session, ask) if query.size > limits.window else ask
        session.room = self._room(session, ask)
        return ask

    def _parameters(self, query: Query) -> Parameters:
        model = query.options.get("model")
        return Parameters(model=model) if isinstance(model, str) and model in self._limits.models else Parameters()

    def _fitted(self, session: Session, ask: Ask) -> Ask:
        """A long conversation, shortened to what the model can read; the user is told."""
        fitting = import_module("rightseat.data.fitting")
        known = [Tool.offered(offer) for offer in ask.tools]
        facts = sum(fitting.size(fact.description + fact.value) for fact in ask.context)
        budget = fitting.Budget(self._limits.window - facts // fitting.BYTES_PER_TOKEN - OUR_TOOLS)
        fitted = fitting.fit_prompt(Prompt(ask.messages, known), budget)
        session.notes += fitted.notes
        return msgspec.structs.replace(ask, messages=fitted.prompt.messages)

    def _room(self, session: Session, ask: Ask) -> "Room | None":
        """What is left of the window for what tools say of the data, in all rounds of this answer together."""
        if session.files.tables is None and not any(source.documents for source in session.sources):
            return None
        fitting = import_module("rightseat.data.fitting")
        facts = sum(fitting.size(fact.description + fact.value) for fact in ask.context)
        known = Prompt(ask.messages, [Tool.offered(offer) for offer in ask.tools])
        budget = fitting.Budget(self._limits.window - OUR_TOOLS // 2)  # the tools themselves take the other half
        left = budget.bytes - fitting.prompt_size(known) - facts
        return cast("Room", fitting.Room(max(left, LEAST_ROOM)))

    # What the writer asks for

    def _write_call(
        self,
        session: Session,
        calls: Sequence[Made],
        waiting: Sequence[Made],
        before: Sequence[Message],
        answers: int,
    ) -> bytes:
        """See `writing.Asking`. Calls that would be too many are not made: the model is told when it is asked again."""
        spent = session.spent
        request, *queue = plan(waiting, session.catalogue)[: self._limits.calls - spent.made]
        state = State(
            self._agent,
            tuple(calls),
            request.answers,
            tuple(queue),
            bounded(before),
            spent.asked + answers,
            spent.made + 1,
            session.query.timezone,
            bounded_skills(session.query.selected_skills),
        )
        return events.call(request.function, request.arguments, self._seal.close(state))

    def _wait(
        self, chat: Chat, messages: tuple[Message, ...], asked: Sequence[Interrupt], said: Sequence[Message]
    ) -> str | None:
        """See `writing.Wait`."""
        if (how := replies.how(asked)) is not None:
            self._questions.keep(chat, Waiting(tuple(asked), (*messages, *said)))
        return how


def announced(session: Session, calls: Sequence[Made]) -> list[bytes]:
    """The steps that the user sees for these calls."""
    return [events.status(step) for call in calls if (step := session.catalogue.announce(call))]


def answering(ask: Ask, reply: Reply | None) -> Ask:
    """The ask with a person's answer. Calls that wait for it are in what was said when they were made."""
    if reply is None:
        return ask
    return msgspec.structs.replace(
        ask, messages=ask.messages if reply.messages is None else reply.messages, answers=reply.answers
    )


def said_of(error: Exception, run_id: str) -> str:
    """In words, for nobody sees what stands in an HTTP error. What is no error of ours goes to the log alone."""
    if isinstance(error, RightseatError):
        return error.message
    logger.error("run %s could not be begun", run_id, exc_info=error)
    return InternalError(run_id).message


class Answer(RunResponse):
    """The answer of a run. When it has ended, so has its session."""

    def __init__(
        self,
        runtime: Runtime,
        run_id: str,
        writer: Writer,
        sessions: Sessions,
        trace_id: str,
        first: bytes,
        keep_alive: float,
    ) -> None:
        super().__init__(runtime, run_id, writer.feed, headers={}, first=first, keep_alive=keep_alive)
        self.raw_headers = head(trace_id, run_id)
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._sessions.clear(self._run_id)
