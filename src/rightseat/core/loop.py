"""Our own agent: a model and its tools, in turns."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from functools import partial

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
from rightseat.core.messages import Message, Text
from rightseat.core.model import Model, Prompt
from rightseat.core.observing import begin
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
        if (taken_away := self._taken(ask)) is not None:
            async with closing(taken_away) as events:
                async for event in events:
                    yield event
            return
        tools, missing = await self.tools(ask)
        for problem in missing:
            yield Custom("loop.missing", problem)
        for toolbox in self._remarking:
            for remark in toolbox.remarks(ask):
                yield remark
        shadowed: list[JsonValue] = [offer.name for offer in ask.tools if tools[offer.name].is_ours]
        if shadowed:
            yield Custom("loop.taken", shadowed)
        answered = Fold()
        if ask.answers:
            async with closing(go_on(ask, tools, steps)) as events:
                async for event in events:
                    if type(event) is RunFinished:
                        yield event
                        return
                    answered.add(event)
                    yield event
            if was_stopped(ask, tools):
                return
        said = mended(ask.messages + answered.messages())
        history = introduced(self._instructions(ask), ask.context, said)
        del answered, missing, said, shadowed  # a run may be long, and there may be thousands
        parameters, taken = ask.parameters, {call.id for call in calls_in(ask.messages)}
        rounds = min(ask.rounds or self.rounds, self.rounds)
        for number in range(rounds):
            fold = Fold()
            if ask.conclude and number == rounds - 1:
                tools = {}
            prompt = Prompt(history, tuple(tools.values()), parameters, ask.thread_id)
            answer = steps.stream(f"answer:{number}", partial(self._answer, ask, prompt, steps, taken))
            asked = Asked(self.model, prompt)
            try:
                async with closing(answer) as events:
                    async for event in events:
                        fold.add(event)
                        if type(event) is AnswerEnded:
                            warn_of_a_cut(event, ask)
                            asked.note(event)
                        yield event
            except BaseException as error:
                asked.fail(error)
                mark(error, "call_model", name_of(self.model))
                raise
            asked.end()
            calls = calls_in(fold.messages())
            if not calls:
                return
            taken.update(call.id for call in calls)
            async with closing(run_calls(calls, tools, ask, steps)) as events:
                async for event in events:
                    if type(event) is RunFinished:
                        yield event
                        return
                    fold.add(event)
                    yield event
            if is_complete(fold.messages(), tools):
                return
            history += fold.messages()
            parameters = undemanding(parameters)
        if ask.rounds is None or ask.conclude:
            raise TooManyRounds(rounds)

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

    def _answer(self, ask: Ask, prompt: Prompt, steps: Steps, taken: set[str]) -> AsyncIterator[Event]:
        limit = self.answer_limit
        return continuing.answer(self.model, prompt, steps, taken, renamed=ask.durable, limit=limit)

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        having = [toolbox for toolbox in self.toolboxes if isinstance(toolbox, ListsPlugins)]
        return [plugin for toolbox in having for plugin in toolbox.list_plugins(principal, language)]

    async def tools(self, ask: Ask) -> tuple[dict[str, Tool], list[str]]:
        """By name; and what is missing, which `loop.missing` tells. Names of the client's that are taken are told by
        `loop.taken`."""
        return await gather(ask, self.toolboxes, self.approve)


class Asked:
    """The span of one answer of a model."""

    __slots__ = ("_span",)

    def __init__(self, model: Model, prompt: Prompt) -> None:
        self._span = begin("model", name_of(model), messages=len(prompt.messages), tools=len(prompt.tools))

    def note(self, ended: AnswerEnded) -> None:
        self._span.note(reason=ended.reason)
        if usage := ended.usage:
            self._span.note(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
            if usage.cache_read_tokens or usage.cache_written_tokens:
                self._span.note(
                    cache_read_tokens=usage.cache_read_tokens, cache_written_tokens=usage.cache_written_tokens
                )

    def fail(self, error: BaseException) -> None:
        is_left = isinstance(error, GeneratorExit | asyncio.CancelledError)
        self._span.end("cancelled" if is_left else getattr(error, "code", None) or type(error).__name__)

    def end(self) -> None:
        self._span.end()


def name_of(model: Model) -> str:
    """The operator's name for it, and never the client's: who asks could make as many as it likes."""
    options = getattr(model, "options", None)
    return str(getattr(model, "name", "") or getattr(options, "model", "") or type(model).__name__)


def is_complete(answer: Sequence[Message], tools: Mapping[str, Tool]) -> bool:
    """Has it said what it had to say, with calls that only go along with it?"""
    closes = [(tool := tools.get(call.name)) is not None and tool.closes for call in calls_in(answer)]
    return all(closes) and any(message.role == "assistant" and message.text.strip() for message in answer)


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
