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
from rightseat.faces.openbb.asking import Query, Returned
from rightseat.faces.openbb.calls import Catalogue, plan
from rightseat.faces.openbb.carrying import Spent, bounded, bounded_skills, read_states, remembering, spent_on
from rightseat.faces.openbb.citing import prepare
from rightseat.faces.openbb.desk import Desk, Desks, offerers
from rightseat.faces.openbb.files import Files, Library
from rightseat.faces.openbb.functions import Step
from rightseat.faces.openbb.instructing import instructions
from rightseat.faces.openbb.opening import Opening, takes_time
from rightseat.faces.openbb.questions import Chat, Questions, Reply
from rightseat.faces.openbb.replies import Waiting
from rightseat.faces.openbb.state import FalseState, Made, Seal, State
from rightseat.faces.openbb.telling import head, told
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
    """Answers for one agent."""

    def __init__(
        self, runtime: Runtime, agent: str, desks: Desks, library: Library, seal: Seal, limits: Limits
    ) -> None:
        self._runtime = runtime
        self._agent = agent
        self._desks = desks
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
        files: str | None = None,
        *,
        attended: bool = False,
    ) -> Response:
        """`files` is the address below which files are fetched. `attended`: the chat has a name, under which a
        question to its user can be kept."""
        for line in query.left_out:
            logger.info("chat %s: left out %s", query.trace_id, line)
        try:
            states = read_states(query, self._seal, self._agent)
        except FalseState as error:
            logger.warning("chat %s: %s", query.trace_id, error)
            return told([events.chunk(error.message)], query.trace_id)
        last = states.get(len(query.messages) - 1)
        if last is not None and last.queue:
            return self._next(query, last)
        if self._takes_files and last is None and (wanted := self._attached(query)):
            return told(wanted, query.trace_id)
        ask = Ask(
            messages=(),
            agent=self._agent,
            thread_id=query.trace_id,
            principal=principal,
            headers=headers,
            attended=attended,
            supports_suggestions=not query.legacy and query.is_on(suggesting.OPTION),
        )
        if not takes_time(query):
            return await self._run(ask, query, states, files)
        first = COMMENT if query.legacy else events.status(READING)
        run = partial(self._run, ask, query, states, files)
        return Opening(run, head(query.trace_id, ask.run_id), first, self._limits.keep_alive)

    # The next of a queue

    def _next(self, query: Query, last: State) -> Response:
        """The model is asked again only when all results are there."""
        catalogue, request = Catalogue(query), last.queue[0]
        state = msgspec.structs.replace(last, now=request.answers, queue=last.queue[1:], before=(), made=last.made + 1)
        ids = {id for ids in request.answers for id in ids}
        steps = [catalogue.announce(call) for call in last.calls if call.id in ids]
        said = [events.status(one, "WARNING") for one in warning.warnings(query, catalogue)]
        said += [events.status(step) for step in steps if step is not None]
        written = events.call(request.function, request.arguments, self._seal.close(state))
        return told([*([] if query.legacy else said), written], query.trace_id)

    # Files

    def _attached(self, query: Query) -> list[bytes]:
        """What fetches the files that are attached, where there are such that have not been fetched."""
        if query.legacy or isinstance(query.messages[-1], Returned):
            return []
        catalogue = Catalogue(query)
        if not (calls := attached.missing(query, catalogue)):
            return []
        steps = [events.status(step) for call in calls if (step := catalogue.announce(call))]
        return [*steps, self._write_call(Desk(query), catalogue, Spent(0, 0), calls, calls, (), 0)]

    # A run

    async def _run(self, ask: Ask, query: Query, states: Mapping[int, State], files: str | None) -> Response:
        spent, query = spent_on(query, states), remembering(query, states)
        desk = Desk(query)
        self._desks.put(ask.run_id, desk)
        chat, reply = Chat(ask.principal.id, self._agent, query.trace_id), None
        try:
            reply = self._questions.take(chat, query) if ask.attended else None
            catalogue = Catalogue(query, () if query.legacy else [one for offer in offerers() for one in offer(desk)])
            desk.functions = catalogue.functions
            ask = answering(await self._prepared(ask, states, catalogue, desk, spent), reply)
            await prepare(desk)
            first = [*warning.warnings(query, catalogue), *map(Step, desk.notes)]
            desk.put_away()
            await self._runtime.start(ask)
        except BaseException as error:
            await self._desks.clear(ask.run_id)
            if reply is not None:
                self._questions.keep(chat, reply.waiting)  # nobody has heard the answer
            if not isinstance(error, Exception):
                raise
            return told([events.chunk(said_of(error, ask.run_id))], query.trace_id)
        write_call = partial(self._write_call, desk, catalogue, spent)
        wait = partial(self._wait, chat, ask.messages) if ask.attended else None
        writer = Writer(desk, catalogue, write_call, files, wait)
        warned = b"" if query.legacy else b"".join(events.status(step, "WARNING") for step in first)
        return Answer(self._runtime, ask.run_id, writer, self._desks, query.trace_id, warned, self._limits.keep_alive)

    def _wait(
        self, chat: Chat, messages: tuple[Message, ...], asked: Sequence[Interrupt], said: Sequence[Message]
    ) -> str | None:
        """See `writing.Wait`."""
        if (how := replies.how(asked)) is not None:
            self._questions.keep(chat, Waiting(tuple(asked), (*messages, *said)))
        return how

    async def _prepared(
        self, ask: Ask, states: Mapping[int, State], catalogue: Catalogue, desk: Desk, spent: Spent
    ) -> Ask:
        query, limits = desk.query, self._limits
        files = Files(self._library, room=limits.window * 2)  # bytes: half of what the model can read
        messages = await history.write(query, states, catalogue, desk, files)
        if self._takes_files:
            messages = await attached.beside(messages, desk, self._library)
        facts = await context.of(desk, files, limits.controls)
        ask = msgspec.structs.replace(
            ask,
            messages=(system(instructions(desk, query.timezone)), *messages),
            tools=tuple(function.offer for function in catalogue.functions.values()),
            parameters=self._parameters(query),
            context=facts,
            properties=context.properties(query) if query.options else {},
            rounds=1 if spent.made >= limits.calls else max(limits.requests - spent.asked, 1),
            conclude=True,
            transient=True,
        )
        ask = self._fitted(ask, desk) if query.size > limits.window else ask
        desk.room = self._room(ask, desk)
        return ask

    def _parameters(self, query: Query) -> Parameters:
        model = query.options.get("model")
        return Parameters(model=model) if isinstance(model, str) and model in self._limits.models else Parameters()

    def _fitted(self, ask: Ask, desk: Desk) -> Ask:
        """A long conversation, shortened to what the model can read; the user is told."""
        fitting = import_module("rightseat.data.fitting")
        known = [Tool.offered(offer) for offer in ask.tools]
        facts = sum(fitting.size(fact.description + fact.value) for fact in ask.context)
        budget = fitting.Budget(self._limits.window - facts // fitting.BYTES_PER_TOKEN - OUR_TOOLS)
        fitted = fitting.fit_prompt(Prompt(ask.messages, known), budget)
        desk.notes += fitted.notes
        return msgspec.structs.replace(ask, messages=fitted.prompt.messages)

    def _room(self, ask: Ask, desk: Desk) -> "Room | None":
        """What is left of the window for what tools say of the data, in all rounds of this answer together."""
        if desk.tables is None and not any(source.documents for source in desk.sources):
            return None
        fitting = import_module("rightseat.data.fitting")
        facts = sum(fitting.size(fact.description + fact.value) for fact in ask.context)
        known = Prompt(ask.messages, [Tool.offered(offer) for offer in ask.tools])
        budget = fitting.Budget(self._limits.window - OUR_TOOLS // 2)  # the tools themselves take the other half
        left = budget.bytes - fitting.prompt_size(known) - facts
        return cast("Room", fitting.Room(max(left, LEAST_ROOM)))

    def _write_call(
        self,
        desk: Desk,
        catalogue: Catalogue,
        spent: Spent,
        calls: Sequence[Made],
        waiting: Sequence[Made],
        before: Sequence[Message],
        answers: int,
    ) -> bytes:
        """See `writing.Asking`. Calls that would be too many are not made: the model is told when it is asked again."""
        request, *queue = plan(waiting, catalogue)[: self._limits.calls - spent.made]
        state = State(
            self._agent,
            tuple(calls),
            request.answers,
            tuple(queue),
            bounded(before),
            spent.asked + answers,
            spent.made + 1,
            desk.query.timezone,
            bounded_skills(desk.query.selected_skills),
        )
        return events.call(request.function, request.arguments, self._seal.close(state))


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
    """The answer of a run. When it has ended, so has its desk."""

    def __init__(
        self,
        runtime: Runtime,
        run_id: str,
        writer: Writer,
        desks: Desks,
        trace_id: str,
        first: bytes,
        keep_alive: float,
    ) -> None:
        super().__init__(runtime, run_id, writer.feed, headers={}, first=first, keep_alive=keep_alive)
        self.raw_headers = head(trace_id, run_id)
        self._desks = desks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._desks.clear(self._run_id)
