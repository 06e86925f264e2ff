"""Our own agent: a model and its tools, in turns."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec
from pydantic import JsonValue

from rightseat.core.approving import Policy, asking
from rightseat.core.ask import Ask, Context, Parameters
from rightseat.core.cancelling import is_cancelled, to_the_end
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import RightseatError, TooManyRounds
from rightseat.core.events import AnswerEnded, CallReturned, Custom, Event, Interrupt, RunFinished
from rightseat.core.folding import Fold
from rightseat.core.framing import frame
from rightseat.core.history import mended
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Message, Result, Text
from rightseat.core.model import Model, Prompt
from rightseat.core.tools import Invocation, Run, Tool, Toolbox

logger = logging.getLogger(__name__)

REFUSED = "The person refused: the call was not run."
SKIPPED = "The call was cut off, and nobody knows whether it had an effect. It was not made again."
UNKNOWN: JsonValue = {"type": "string", "enum": ["repeat", "skip", "stop"]}
NO_OBJECT = "The arguments are not a JSON object."


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
    ) -> None:
        self.model = model
        self.toolboxes = toolboxes
        self.instructions = instructions
        self.description = description
        self.rounds = rounds
        self.approve = approve
        self.durable = durable

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        tools = await self._tools(ask)
        shadowed: list[JsonValue] = [offer.name for offer in ask.tools if tools[offer.name].run is not None]
        if shadowed:
            yield Custom("loop.taken", shadowed)
        answered = Fold()
        for event in await run_answered(ask, tools, steps):
            answered.add(event)
            yield event
        waiting = [answer.call for answer in ask.answers if answer.call]
        if unknown := tuple(doubts(waiting, answered)):
            yield RunFinished("waiting", unknown)
            return
        if any(answer.payload == "stop" for answer in ask.answers):
            return
        history = introduced(self.instructions, ask.context, mended(ask.messages + answered.messages()))
        parameters, taken = ask.parameters, {call.id for call in calls_in(ask.messages)}
        rounds = min(ask.rounds or self.rounds, self.rounds)
        for number in range(rounds):
            fold = Fold()
            if ask.conclude and number == rounds - 1:
                tools = {}
            prompt = Prompt(history, tuple(tools.values()), parameters, ask.thread_id)
            answer = steps.stream(f"answer:{number}", partial(self._answer, ask, prompt, taken))
            async with closing(answer) as events:
                async for event in events:
                    fold.add(event)
                    if type(event) is AnswerEnded:
                        warn_of_a_cut(event, ask)
                    yield event
            calls = calls_in(fold.messages())
            taken.update(call.id for call in calls)
            for event in await run_calls(calls, tools, ask, steps):
                fold.add(event)
                yield event
            unknown = tuple(doubts([call for call in calls if not is_for_another(call, tools)], fold))
            if unknown or any(is_for_another(call, tools) for call in calls):
                yield RunFinished("waiting", (*questions(calls, tools), *unknown))
                return
            if not calls or is_complete(fold.messages(), tools):
                return
            history += fold.messages()
            parameters = undemanding(parameters)
        if ask.rounds is None or ask.conclude:
            raise TooManyRounds(rounds)

    def _answer(self, ask: Ask, prompt: Prompt, taken: set[str]) -> AsyncIterator[Event]:
        return frame(self.model.stream(prompt), taken, renamed=ask.durable)

    async def _tools(self, ask: Ask) -> dict[str, Tool]:
        """By name. The server's own tools win: a client must not take the place of one. It is told by `loop.taken`."""
        tools = {offer.name: Tool.offered(offer) for offer in ask.tools}
        for toolbox in self.toolboxes:
            tools |= {tool.name: asking(tool, self.approve) for tool in await toolbox.tools(ask)}
        return tools


def calls_in(messages: Iterable[Message]) -> list[Call]:
    return [part for message in messages for part in message.parts if isinstance(part, Call)]


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


async def run_calls(calls: Sequence[Call], tools: Mapping[str, Tool], ask: Ask, steps: Steps) -> list[Event]:
    """Run what the server can run by itself, side by side; what they give comes in the order of the calls."""
    mine = [(call, tools.get(call.name), None) for call in calls if not is_for_another(call, tools)]
    return await side_by_side(mine, ask, steps)


async def run_answered(ask: Ask, tools: Mapping[str, Tool], steps: Steps) -> list[Event]:
    """The calls that waited for a person: run if the person agreed, else given back as refused."""
    refused: list[Event] = []
    agreed: list[tuple[Call, Tool | None, JsonValue]] = []
    for answer in ask.answers:
        if answer.call is None:
            continue  # the question of an agent, not of a tool
        if answer.payload in ("skip", "stop"):
            refused.append(CallReturned(answer.call.id, answer.call.name, SKIPPED, "outcome_unknown"))
        elif answer.status == "resolved":
            agreed.append((answer.call, tools.get(answer.call.name), answer.payload))
        else:
            refused.append(CallReturned(answer.call.id, answer.call.name, REFUSED, "refused"))
    return refused + await side_by_side(agreed, ask, steps)


async def side_by_side(calls: Sequence[tuple[Call, Tool | None, JsonValue]], ask: Ask, steps: Steps) -> list[Event]:
    if not calls:
        return []
    running = [asyncio.create_task(run_call(*one, ask, steps)) for one in calls]
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        if unfinished := [task for task in running if not task.done()]:
            for task in unfinished:
                task.cancel()
            await to_the_end(asyncio.wait(unfinished))
    for task in running:
        if not task.cancelled() and (failure := task.exception()):
            raise failure  # as it is: in a group it would be hidden that another process has the run now
    return [event for task in running for event in task.result()]


def questions(calls: Sequence[Call], tools: Mapping[str, Tool]) -> Iterator[Interrupt]:
    for call in calls:
        tool = tools.get(call.name)
        if tool is not None and tool.approval is not None:
            asked = tool.approval
            yield Interrupt(
                new_id("interrupt"), "approval_required", asked.message, call.id, asked.schema, asked.expires_at()
            )


def doubts(calls: Sequence[Call], said: Fold) -> Iterator[Interrupt]:
    """Of calls that were made and have no result: they were cut off, and may have had an effect or not."""
    returned = {part.call_id for message in said.messages() for part in message.parts if isinstance(part, Result)}
    for call in calls:
        if call.id not in returned:
            asked = f"{call.name} was cut off: whether it had an effect is not known. Repeat it, skip it, or stop?"
            yield Interrupt(new_id("interrupt"), "outcome_unknown", asked, call.id, UNKNOWN)


def is_for_another(call: Call, tools: Mapping[str, Tool]) -> bool:
    """Does the client have to run it, or a person to agree first?"""
    tool = tools.get(call.name)
    if tool is None or (tool.run is not None and tool.approval is None):
        return False
    return refusal(call, tool) is None


def refusal(call: Call, tool: Tool) -> CallReturned | None:
    """What the model is told of a call that whoever runs the tool could not use."""
    if tool.check is None:
        return None
    arguments = read_arguments(call.arguments)
    if arguments is None:
        return CallReturned(call.id, call.name, NO_OBJECT, "invalid_arguments")
    try:
        tool.check(arguments)
    except RightseatError as error:
        return CallReturned(call.id, call.name, error.message, error.code)
    return None


async def run_call(call: Call, tool: Tool | None, approval: JsonValue, ask: Ask, steps: Steps) -> list[Event]:
    """What the tool said and gave. Whatever goes wrong becomes a result that says so: the model can often repair it."""
    if tool is not None and (refused := refusal(call, tool)):
        return [refused]
    if tool is None or tool.run is None:
        return [CallReturned(call.id, call.name, f"There is no tool named {call.name!r}.", "unknown_tool")]
    arguments = read_arguments(call.arguments)
    if arguments is None:
        return [CallReturned(call.id, call.name, NO_OBJECT, "invalid_arguments")]
    make: Callable[[], Awaitable[list[Event]]] = partial(make_call, call, tool.run, arguments, approval, ask)
    if ask.durable and not tool.may_repeat and await was_tried(call, steps):
        make = nothing_known  # unless what became of it was kept
    return await steps.do(f"tool:{call.id}", list[Event], make)


async def was_tried(call: Call, steps: Steps) -> bool:
    """Did an earlier execution of this run begin the call?"""
    mine = new_id("attempt")

    async def note() -> str:
        return mine

    return await steps.do(f"try:{call.id}", str, note) != mine


async def nothing_known() -> list[Event]:
    return []


async def make_call(
    call: Call, run: Run, arguments: Mapping[str, JsonValue], approval: JsonValue, ask: Ask
) -> list[Event]:
    said: list[Event] = []
    invocation = Invocation(call.id, arguments, ask, f"{ask.run_id}:{call.id}", approval, said.append)
    try:
        content = await run(invocation)
    except RightseatError as error:
        return [*said, CallReturned(call.id, call.name, error.message, error.code)]
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise
        logger.exception("run %s: the tool %s failed", ask.run_id, call.name)
        return [*said, CallReturned(call.id, call.name, f"The tool {call.name!r} failed.", "tool_failed")]
    return [*said, CallReturned(call.id, call.name, content)]


def read_arguments(text: str) -> dict[str, JsonValue] | None:
    """The JSON object that a model wrote; none at all counts as an empty one."""
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def warn_of_a_cut(ended: AnswerEnded, ask: Ask) -> None:
    if ended.reason == "length":
        logger.warning("run %s: the model's answer was cut at its token limit", ask.run_id)
    elif ended.reason == "filtered":
        logger.warning("run %s: the model's provider filtered the answer", ask.run_id)
