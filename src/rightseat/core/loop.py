"""Our own agent: a model and its tools, in turns."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterable, Sequence

import msgspec
from pydantic import JsonValue

from rightseat.core.ask import Ask, Context, Parameters
from rightseat.core.cancelling import is_cancelled
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import RightseatError, TooManyRounds
from rightseat.core.events import AnswerEnded, CallReturned, Event, RunFinished
from rightseat.core.folding import Fold
from rightseat.core.framing import frame
from rightseat.core.history import mended
from rightseat.core.messages import Call, Message, Text
from rightseat.core.model import Model, Prompt
from rightseat.core.tools import Invocation, Tool, Toolbox

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
    ) -> None:
        self.model = model
        self.toolboxes = toolboxes
        self.instructions = instructions
        self.description = description
        self.rounds = rounds

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        tools = await self._tools(ask)
        history = introduced(self.instructions, ask.context, mended(ask.messages))
        parameters, taken = ask.parameters, {call.id for call in calls_in(ask.messages)}
        rounds = ask.rounds or self.rounds
        for _ in range(rounds):
            fold = Fold()
            prompt = Prompt(history, tuple(tools.values()), parameters)
            async with closing(frame(self.model.stream(prompt), taken)) as events:
                async for event in events:
                    fold.add(event)
                    if type(event) is AnswerEnded:
                        warn_of_a_cut(event, ask)
                    yield event
            calls = calls_in(fold.messages())
            for returned in await run_calls(calls, tools, ask, steps):
                fold.add(returned)
                yield returned
            if any(is_for_the_client(call, tools) for call in calls):
                yield RunFinished("waiting")
                return
            if not calls:
                return
            history += fold.messages()
            parameters = undemanding(parameters)
        if ask.rounds is None:
            raise TooManyRounds(rounds)

    async def _tools(self, ask: Ask) -> dict[str, Tool]:
        """By name. The server's own tools win: a client must not take the place of one."""
        tools = {offer.name: Tool.offered(offer) for offer in ask.tools}
        for toolbox in self.toolboxes:
            tools |= {tool.name: tool for tool in await toolbox.tools(ask)}
        return tools


def calls_in(messages: Iterable[Message]) -> list[Call]:
    return [part for message in messages for part in message.parts if isinstance(part, Call)]


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


async def run_calls(calls: Sequence[Call], tools: dict[str, Tool], ask: Ask, steps: Steps) -> list[CallReturned]:
    """Run what the server can run, side by side; the results come in the order of the calls."""
    mine = [call for call in calls if not is_for_the_client(call, tools)]
    if not mine:
        return []
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(run_call(call, tools.get(call.name), ask, steps)) for call in mine]
    return [task.result() for task in running]


def is_for_the_client(call: Call, tools: dict[str, Tool]) -> bool:
    tool = tools.get(call.name)
    return tool is not None and tool.run is None


async def run_call(call: Call, tool: Tool | None, ask: Ask, steps: Steps) -> CallReturned:
    """Whatever goes wrong becomes a result that says so: the model can often repair it."""
    if tool is None or tool.run is None:
        return CallReturned(call.id, call.name, f"There is no tool named {call.name!r}.", "unknown_tool")
    arguments = read_arguments(call.arguments)
    if arguments is None:
        return CallReturned(call.id, call.name, "The arguments are not a JSON object.", "invalid_arguments")
    run, invocation = tool.run, Invocation(call.id, arguments, ask, key=f"{ask.run_id}:{call.id}")
    try:
        content = await steps.do(f"tool:{call.id}", lambda: run(invocation))
    except RightseatError as error:
        return CallReturned(call.id, call.name, error.message, error.code)
    except (Exception, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise
        logger.exception("run %s: the tool %s failed", ask.run_id, call.name)
        return CallReturned(call.id, call.name, f"The tool {call.name!r} failed.", "tool_failed")
    return CallReturned(call.id, call.name, content)


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
