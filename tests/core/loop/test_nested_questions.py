"""Approvals of tools that a sub-agent calls, through the runtime."""

import asyncio
from collections.abc import Callable

import pytest

from rightseat.core.agent import Agent
from rightseat.core.ask import Answer, Ask, Principal
from rightseat.core.events import Event, RunFinished, ToolCallReturned
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.loop.subagents import AgentToolbox, make_handoff_tool
from rightseat.core.messages import user
from rightseat.core.runtime import Runtime
from rightseat.core.tools import Approval, Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, calls, check_order, says

ANNA = Principal("anna")


class Tools:
    def __init__(self, *tools: Tool) -> None:
        self._tools = tools

    async def tools(self, ask: Ask) -> tuple[Tool, ...]:
        return self._tools


class Clerk(Loop):
    """Deletes a file once a person approves it, then says so."""

    def __init__(self) -> None:
        self.deleted: list[JsonValue] = []
        self.script = ScriptedModel([calls("delete", '{"path": "a.txt"}', id="inner"), says("It is handled.")])
        tool = Tool(
            "delete", "Deletes a file.", {}, self._delete, approval=Approval("Delete the file?"), effect="write"
        )
        super().__init__(self.script, (Tools(tool),), description="deletes files")

    async def _delete(self, invocation: Invocation) -> str:
        self.deleted.append(invocation.arguments["path"])
        return "deleted"


def asking(agent: Agent, id: str = "outer", name: str = "clerk") -> Loop:
    model = ScriptedModel([calls(name, '{"question": "Delete a.txt."}', id=id), says("Done.")])
    return Loop(model, (AgentToolbox({name: agent}),), description="asks")


def asking_twice(agent: Agent) -> Loop:
    return asking(asking(agent, "middle"), "outer", "desk")


def handing_over(agent: Agent) -> Loop:
    return Loop(ScriptedModel([calls("clerk", id="outer")]), (Tools(make_handoff_tool("clerk", agent, "a clerk")),))


async def events_of(runtime: Runtime, ask: Ask) -> list[Event]:
    started = await runtime.start(ask)
    return [entry.event async for batch in runtime.follow(started.run_id) for entry in batch]


@pytest.mark.parametrize("outer", [asking, asking_twice, handing_over])
@pytest.mark.parametrize("allow", [True, False])
async def test_a_sub_agent_continues_with_the_answer(outer: Callable[[Agent], Loop], allow: bool) -> None:
    clerk = Clerk()
    runtime = Runtime({"main": outer(clerk)}, log=MemoryLog(), threads=MemoryThreads(), engine=LocalEngine())
    async with asyncio.timeout(60):
        events = await events_of(
            runtime, Ask(messages=(user("Delete a.txt."),), agent="main", principal=ANNA, thread_id="t")
        )
        check_order(events)
        last = events[-1]
        assert isinstance(last, RunFinished)
        (interrupt,) = last.interrupts
        assert (interrupt.message, interrupt.call_id) == ("Delete the file?", "inner")
        (pending,) = await runtime.pending(ANNA, "t")
        assert pending.call is not None
        assert (pending.call.name, pending.call.arguments) == ("delete", '{"path": "a.txt"}')
        assert clerk.deleted == []

        answer = Answer(interrupt.id, "resolved", {"approved": True}) if allow else Answer(interrupt.id, "cancelled")
        events = await events_of(
            runtime, Ask(messages=(), agent="main", principal=ANNA, thread_id="t", answers=(answer,))
        )
        await runtime.close()

    assert events[-1] == RunFinished("done")
    assert clerk.deleted == (["a.txt"] if allow else [])
    results = {event.call_id: event.error for event in events if isinstance(event, ToolCallReturned)}
    assert results["inner"] == (None if allow else "refused")
    assert len(clerk.script.prompts) == 2
    assert [message.role for message in clerk.script.prompts[1].messages][-2:] == ["assistant", "tool"]
