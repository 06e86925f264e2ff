"""An agent with memory: the built-in agent with the memories of its user, in each run."""

from collections.abc import AsyncIterator, Mapping, Sequence

from rightseat.concurrency import aclosing
from rightseat.core.agent import PluginSummary
from rightseat.core.ask import Ask, Principal
from rightseat.core.engine import Steps
from rightseat.core.events import Custom, Event, ToolCallReturned
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.tools import Tool, Toolbox
from rightseat.memory.run_memory import AgentMemory, DetachedMemory, open_memory
from rightseat.operations.own_memories import OwnMemories


class MemoryAgent:
    """Each run has a `Loop` of its own, whose first toolbox knows what the run has read.

    It emits `memory.used` with the ids of the memories in the prompt. Their texts are in no event and no message, so
    that nothing is left of a memory that is forgotten.
    """

    def __init__(self, loop: Loop, options: AgentMemory, memories: OwnMemories) -> None:
        self.loop = extend_loop(loop, DetachedMemory(options))
        """The agent without memories, for lists of its tools."""
        self._base = loop
        self._options = options
        self._memories = memories

    @property
    def description(self) -> str:
        return self._base.description

    @property
    def durable(self) -> bool:
        return self._base.durable

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        if ask.purpose != "answer":
            async with aclosing(self._base.run(ask, steps)) as events:
                async for event in events:
                    yield event
            return
        memory = await open_memory(self._memories, self._options, ask, steps)
        if memory.used:
            yield Custom("memory.used", list(memory.used))
        async with aclosing(extend_loop(self._base, memory, memory.section()).run(ask, steps)) as events:
            async for event in events:
                if type(event) is ToolCallReturned:
                    await memory.note_result(event.name)
                yield event

    async def tools(self, ask: Ask) -> tuple[Mapping[str, Tool], Sequence[str]]:
        """Without those of the memory, which work in a run alone."""
        return await self._base.tools(ask)

    def list_plugins(self, principal: Principal, language: str | None = None) -> Sequence[PluginSummary]:
        return self._base.list_plugins(principal, language)


def extend_loop(loop: Loop, toolbox: Toolbox, section: str = "") -> Loop:
    """The loop with a further toolbox, the first, and a section after its instructions."""
    return Loop(
        loop.model,
        (toolbox, *loop.toolboxes),
        instructions="\n\n".join(filter(None, (loop.instructions, section))) or None,
        description=loop.description,
        max_turns=loop.max_turns,
        approval=loop.approval,
        durable=loop.durable,
        max_response_chars=loop.max_response_chars,
    )
