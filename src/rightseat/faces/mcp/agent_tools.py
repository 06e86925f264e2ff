"""Offers agents as tools: `ask_NAME` passes a message to the agent, and returns its answer.

The run is stored in a thread of the user, like a run of any other face, so that a later call goes on with it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import mcp_types as types
import msgspec

from rightseat.access.route_auth import RouteAuth
from rightseat.concurrency import aclosing, run_or_undo
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.errors import BadRequest
from rightseat.core.events import Interrupt, RunFailed, RunFinished, StepStarted, ToolCallStarted
from rightseat.core.ids import new_id
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.core.stream.reducer import Reducer

PREFIX = "ask_"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "What to ask, with everything that the agent has to know."},
        "thread_id": {
            "type": "string",
            "description": "The thread_id of an earlier answer, to go on with it. Unset: a new conversation.",
        },
    },
    "required": ["message"],
    "additionalProperties": False,
}


class AgentQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a call."""

    message: str
    thread_id: str | None = None


class AgentAnswer(NamedTuple):
    """What a run has answered. With `interrupts` it waits for a person."""

    text: str
    thread_id: str
    interrupts: Sequence[Interrupt] = ()
    is_error: bool = False


class AgentTools:
    def __init__(self, runtime: Runtime, agents: Sequence[str], auth: RouteAuth) -> None:
        self._runtime = runtime
        self._names = {f"{PREFIX}{name}": name for name in agents}
        self._auth = auth
        self._ending: set[asyncio.Task[None]] = set()

    def list_tools(self, principal: Principal) -> list[types.Tool]:
        return [
            self._describe(tool, agent) for tool, agent in self._names.items() if self._auth.may_use(principal, agent)
        ]

    def find(self, tool: str, principal: Principal) -> str | None:
        """The name of the agent, if this is a tool that the user may call."""
        agent = self._names.get(tool)
        return agent if agent is not None and self._auth.may_use(principal, agent) else None

    def _describe(self, tool: str, name: str) -> types.Tool:
        agent = self._runtime.agents.get(name)
        about = getattr(agent, "description", "") or f"Answers with the agent {name} and its tools."
        annotations = types.ToolAnnotations(read_only_hint=False, idempotent_hint=False)
        return types.Tool(name=tool, description=about, input_schema=SCHEMA, annotations=annotations)

    async def answer(
        self,
        context: Any,
        ask: Ask,
        arguments: Mapping[str, Any],
        answers: tuple[Answer, ...] = (),
        thread_id: str = "",
    ) -> AgentAnswer:
        """Run the agent to its end, or until a person has to answer. A client that is gone cancels the run.

        `thread_id` and `answers` are those of a run that waits. Raises what `Runtime.start` raises.
        """
        question = read_question(arguments)
        thread_id = thread_id or question.thread_id or new_id("thread")
        thread = await self._runtime.settled(thread_id, ask.principal)
        earlier = thread.messages if thread else ()
        added = () if answers else (user(question.message),)
        stored = msgspec.structs.replace(
            ask, thread_id=thread_id, messages=(*earlier, *added), answers=answers, transient=False
        )
        started = await run_or_undo(self._runtime.start(stored), self._cancel)
        try:
            return await self._read(context, started)
        except BaseException:
            self._ending.add(task := asyncio.create_task(self._cancel(started)))  # this task is cancelled itself
            task.add_done_callback(self._ending.discard)
            raise

    async def _cancel(self, ask: Ask) -> None:
        await self._runtime.cancel(ask.run_id)

    async def _read(self, context: Any, ask: Ask) -> AgentAnswer:
        reducer, steps = Reducer(), 0
        async with aclosing(self._runtime.follow(ask.run_id)) as batches:
            async for entries in batches:
                for entry in entries:
                    reducer.add(entry.event)
                    if isinstance(entry.event, RunFinished | RunFailed):
                        return read_answer(entry.event, reducer, ask.thread_id)
                    if isinstance(entry.event, StepStarted | ToolCallStarted):
                        await context.session.report_progress(float(steps), None, entry.event.name)
                        steps += 1
        return AgentAnswer("The run has no end.", ask.thread_id, is_error=True)


def read_answer(last: RunFinished | RunFailed, reducer: Reducer, thread_id: str) -> AgentAnswer:
    if isinstance(last, RunFailed):
        return AgentAnswer(last.message, thread_id, is_error=True)
    if last.outcome == "cancelled":
        return AgentAnswer(last.reason or "The run was cancelled.", thread_id, is_error=True)
    texts = (message.text for message in reversed(reducer.messages()) if message.role == "assistant")
    return AgentAnswer(next((text for text in texts if text), ""), thread_id, last.interrupts)


def write_answer(answer: AgentAnswer) -> types.CallToolResult:
    """The text for the model, and how to go on."""
    later = f"(To go on with this conversation, call again with thread_id {answer.thread_id!r}.)"
    texts = [answer.text] if answer.is_error else [answer.text, later]
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in texts],
        structured_content=None if answer.is_error else {"answer": answer.text, "thread_id": answer.thread_id},
        is_error=answer.is_error,
    )


def read_question(arguments: Mapping[str, Any]) -> AgentQuestion:
    """Raises `BadRequest`."""
    try:
        return msgspec.convert(dict(arguments), AgentQuestion)
    except msgspec.ValidationError as error:
        raise BadRequest(f"The arguments do not fit: {error}.") from None
