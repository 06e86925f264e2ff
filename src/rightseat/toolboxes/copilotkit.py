"""A toolbox of the actions and agents of a CopilotKit remote endpoint."""

from collections.abc import Sequence
from typing import Self

from rightseat.core.ask import Ask
from rightseat.core.loop.subagents import make_handoff_tool
from rightseat.core.tools import Invocation, RunTool, Tool, Toolbox
from rightseat.egress import endpoint
from rightseat.egress.endpoint import Endpoint
from rightseat.parts import AgentName, Parts
from rightseat.wire.copilotkit.messages import text_of


class Options(endpoint.Options):
    write_tools: tuple[str, ...] = ()
    """Names of actions that change something and therefore need approval; `*` means all."""
    agents: AgentName | None = None
    """The agent of type `copilotkit` that represents the agents of the endpoint: the model may hand off to each."""


def build(options: Options, parts: Parts) -> Toolbox:
    return ActionToolbox(options, parts)


class ActionToolbox:
    def __init__(self, options: Options, parts: Parts) -> None:
        self._options = options
        self._parts = parts
        self._endpoint = Endpoint(options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._endpoint.aclose()

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        info, writes = await self._endpoint.info(ask), self._options.write_tools
        tools = [
            Tool(
                one.name,
                one.description,
                one.schema(),
                run=self._run(one.name),
                effect="write" if "*" in writes or one.name in writes else "unknown",
            )
            for one in info.actions
        ]
        if self._options.agents is not None:
            part = self._options.agents
            tools += [
                make_handoff_tool(one.name, self._parts.agent(f"{part}/{one.name}"), one.description or "")
                for one in info.agents
            ]
        return tools

    def _run(self, name: str) -> RunTool:
        async def run(invocation: Invocation) -> str:
            return text_of(await self._endpoint.run_action(name, invocation.arguments, invocation.ask))

        return run
