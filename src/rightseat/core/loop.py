"""Our own agent: a model and its tools, in turns."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType

import msgspec
from pydantic import JsonValue

from rightseat.core import continuing
from rightseat.core.agent import ListsPlugins, PluginSummary
from rightseat.core.approving import Policy
from rightseat.core.ask import Ask, Context, Parameters, Principal
from rightseat.core.calling import calls_in, go_on, run_calls, was_stopped
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import RightseatError, TooManyRounds
from rightseat.core.events import AnswerEnded, Custom, Event, RunFinished
from rightseat.core.failing import mark
from rightseat.core.folding import Fold
from rightseat.core.framing import ANSWER_LIMIT
from rightseat.core.gathering import gather
from rightseat.core.history import mended
from rightseat.core.messages import Call, Message, Text
from rightseat.core.model import Model, Prompt
from rightseat.core.observing import begin, error_name
from rightseat.core.tools import Instructing, Remarking, Taking, Tool, Toolbox

logger = logging.getLogger(__name__)


class Loop:
    """Ask the model; run the tools it calls; ask again with their results; until it calls none.

    A call of a tool that the client runs ends the turn: the client comes back with the result.
    """

    def __init__(
        self,
        model: Model,
        toolboxes: Sequence[Toolbox] = (),
        *,
        instructions: str | None = None,
        description: str = "",
        rounds: int = 16,
        approve: Policy = "write",
        durable: bool = False,
        answer_limit: int = ANSWER_LIMIT,
    ) -> None:
        self.model = model
        self.toolboxes = toolboxes
        # Found once: to hold an object to a protocol takes Python long, and every run would.
        self._taking = [toolbox for toolbox in toolboxes if isinstance(toolbox, Taking)]
        self._remarking = [toolbox for toolbox in toolboxes if isinstance(toolbox, Remarking)]
        self._instructing = [toolbox for toolbox in toolboxes if isinstance(toolbox, Instructing)]
        self.instructions = instructions
        self.description = description
        self.rounds = rounds
        self.approve = approve
        self.durable = durable
        self.answer_limit = answer_limit

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        if (intercepted := self._taken(ask)) is not None:
            async with closing(intercepted) as events:
                async for event in events:
                    yield event
            return
        tools, missing = await self.tools(ask)
        for event in self._notices(ask, tools, missing):
            yield event
        turn = Fold()
        if ask.answers:
            async with closing(go_on(ask, tools, steps)) as events:
                async for event in events:
                    turn.add(event)
                    yield event
                    if type(event) is RunFinished:
                        return
            if was_stopped(ask, tools):
                return
        conversation = Conversation(ask, tools, self._history(ask, turn), self.rounds)
        while (prompt := conversation.next_prompt()) is not None:
            turn = Fold()
            # One generator for all turns: each further one on the way costs 0.2 µs for every piece of a text.
            call = ModelCall(self.model, prompt, self._answer(ask, prompt, steps, conversation))
            async with call as events:
                async for event in events:
                    turn.add(event)
                    if type(event) is AnswerEnded:
                        warn_of_a_cut(event, ask)
                        call.note(event)
                    yield event
            if not (calls := conversation.calls_of(turn)):
                return
            async with closing(run_calls(calls, conversation.tools, ask, steps)) as events:
                async for event in events:
                    turn.add(event)
                    yield event
                    if type(event) is RunFinished:
                        return
            if is_complete(turn.messages(), conversation.tools):
                return
            conversation.add(turn)

    def _notices(self, ask: Ask, tools: Mapping[str, Tool], missing: Iterable[str]) -> Iterator[Event]:
        """What the client is told of the tools before the model is called."""
        for problem in missing:
            yield Custom("loop.missing", problem)
        for toolbox in self._remarking:
            yield from toolbox.remarks(ask)
        shadowed: list[JsonValue] = [offer.name for offer in ask.tools if tools[offer.name].is_ours]
        if shadowed:
            yield Custom("loop.taken", shadowed)

    def _history(self, ask: Ask, resumed: Fold) -> tuple[Message, ...]:
        """The messages of the first prompt. `resumed` has the results of calls that waited for a person."""
        return introduced(self._instructions(ask), ask.context, mended(ask.messages + resumed.messages()))

    def _instructions(self, ask: Ask) -> str:
        """The operator's, and then what toolboxes say of their tools."""
        own = [self.instructions] if self.instructions else []
        return "\n\n".join([*own, *(text for toolbox in self._instructing for text in toolbox.instructions(ask))])

    def _taken(self, ask: Ask) -> AsyncIterator[Event] | None:
        """The answer of a toolbox that the ask is for, if there is one."""
        refusal: RightseatError | None = None
        for toolbox in self._taking:
            try:
                if (answer := toolbox.take(ask)) is not None:
                    return answer
            except RightseatError as error:
                refusal = error
        if refusal is not None:
            raise refusal
        return None

    def _answer(self, ask: Ask, prompt: Prompt, steps: Steps, conversation: "Conversation") -> AsyncIterator[Event]:
        """What the model answers to a prompt, as a step of the run."""
        answer = partial(continuing.answer, renamed=ask.durable, limit=self.answer_limit)
        source = partial(answer, self.model, prompt, steps, conversation.call_ids)
        return steps.stream(f"answer:{conversation.answered}", source)

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        having = [toolbox for toolbox in self.toolboxes if isinstance(toolbox, ListsPlugins)]
        return [plugin for toolbox in having for plugin in toolbox.list_plugins(principal, language)]

    async def tools(self, ask: Ask) -> tuple[dict[str, Tool], list[str]]:
        """By name; and what is missing, which `loop.missing` tells. Names of the client's that are taken are told by
        `loop.taken`."""
        return await gather(ask, self.toolboxes, self.approve)


class Conversation:
    """What the model is sent in one run. It grows turn by turn: a model's message and the results of its calls."""

    __slots__ = ("_ask", "_history", "_limit", "_parameters", "_prompted", "call_ids", "tools")

    def __init__(self, ask: Ask, tools: Mapping[str, Tool], history: tuple[Message, ...], limit: int) -> None:
        self.tools = tools
        self.call_ids = {call.id for call in calls_in(ask.messages)}
        self._ask = ask
        self._history = history
        self._parameters = ask.parameters
        self._limit = min(ask.rounds or limit, limit)
        self._prompted = 0

    @property
    def answered(self) -> int:
        """Turns before the current one."""
        return self._prompted - 1

    def next_prompt(self) -> Prompt | None:
        """None if the ask sets how many turns it wants, and has had them. Raises `TooManyRounds`."""
        if self._prompted == self._limit:
            if self._ask.rounds is None or self._ask.conclude:
                raise TooManyRounds(self._limit)
            return None
        self._prompted += 1
        if self._ask.conclude and self._prompted == self._limit:
            self.tools = {}
        return Prompt(self._history, tuple(self.tools.values()), self._parameters, self._ask.thread_id)

    def calls_of(self, turn: Fold) -> list[Call]:
        calls = calls_in(turn.messages())
        self.call_ids.update(call.id for call in calls)
        return calls

    def add(self, turn: Fold) -> None:
        self._history += turn.messages()
        self._parameters = undemanding(self._parameters)


class ModelCall:
    """One answer of a model and its span: when it is left, the answer is closed and the span ends.

    A class, because each stream holds one of them open for as long as it lasts.
    """

    __slots__ = ("_closing", "_model", "_span")

    def __init__(self, model: Model, prompt: Prompt, events: AsyncIterator[Event]) -> None:
        self._model = model
        self._closing = closing(events)
        self._span = begin("model", name_of(model), messages=len(prompt.messages), tools=len(prompt.tools))

    async def __aenter__(self) -> AsyncIterator[Event]:
        return await self._closing.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._closing.__aexit__(kind, error, trace)
        except BaseException as failure:
            error = failure
            raise
        finally:
            self._end(error)

    def note(self, ended: AnswerEnded) -> None:
        self._span.note(reason=ended.reason)
        if usage := ended.usage:
            self._span.note(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
            if usage.cache_read_tokens or usage.cache_written_tokens:
                self._span.note(
                    cache_read_tokens=usage.cache_read_tokens, cache_written_tokens=usage.cache_written_tokens
                )

    def _end(self, error: BaseException | None) -> None:
        if error is None:
            self._span.end()
            return
        is_left = isinstance(error, GeneratorExit | asyncio.CancelledError)
        self._span.end("cancelled" if is_left else error_name(error))
        mark(error, "call_model", name_of(self._model))


def name_of(model: Model) -> str:
    """The operator's name for it, and never the client's: who asks could make as many as it likes."""
    options = getattr(model, "options", None)
    return str(getattr(model, "name", "") or getattr(options, "model", "") or type(model).__name__)


def is_complete(answer: Sequence[Message], tools: Mapping[str, Tool]) -> bool:
    """Has it said what it had to say, with calls that only go along with it?"""
    ends = [(tool := tools.get(call.name)) is not None and tool.ends_turn for call in calls_in(answer)]
    return all(ends) and any(message.role == "assistant" and message.text.strip() for message in answer)


def introduced(
    instructions: str | None, context: Iterable[Context], messages: tuple[Message, ...]
) -> tuple[Message, ...]:
    """The messages behind what the operator and the client's page want the model to know.

    The operator's instructions are before everything; the page's context follows the page's own system message.
    """
    known = [f"{item.description}: {item.value}" for item in context]
    head = (Message("system", (Text(instructions),)),) if instructions else ()
    if not known:
        return head + messages
    lead = 0
    while lead < len(messages) and messages[lead].role == "system":
        lead += 1
    facts = Message("system", (Text("What the application knows at this moment:\n" + "\n".join(known)),))
    return (*head, *messages[:lead], facts, *messages[lead:])


def undemanding(parameters: Parameters) -> Parameters:
    """The parameters of the answers after a call: one that was demanded has been made."""
    if parameters.tool_choice is None or parameters.tool_choice in ("auto", "none"):
        return parameters
    return msgspec.structs.replace(parameters, tool_choice=None)


def warn_of_a_cut(ended: AnswerEnded, ask: Ask) -> None:
    if ended.reason == "length":
        logger.warning("run %s: the model's answer was cut at its token limit", ask.run_id)
    elif ended.reason == "filtered":
        logger.warning("run %s: the model's provider filtered the answer", ask.run_id)
