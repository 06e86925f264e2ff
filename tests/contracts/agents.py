"""The agents that are held to what agents promise, and shown through every face: each as a configuration names it.

Those that are elsewhere are real: servers of `tests/servers`, with the packages of their own makers. Each does what a
word of the last question tells it: see `tests/servers/programs`.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from rightseat.core.agent import Agent
from rightseat.core.ask import ToolOffer
from rightseat.parts import Parts, find, options
from tests.servers.running import HERE

SET_COLOR = ToolOffer(
    "setColor",
    "Set the color of the page.",
    {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]},
)


@dataclass(frozen=True)
class Subject:
    """An agent behind a server: its part of the configuration, and what it can do.

    `answer` is what it takes as an answer to its question, `agreed` what it says then; without, it asks none.
    """

    server: str
    part: Mapping[str, Any]
    name: str
    answer: Any = None
    agreed: str = ""
    stops: str = "gone"
    """What its server notes of a run that was stopped: that the model behind it is `gone`, or only that the agent's
    answer was `closed`."""

    def configured(self, url: str) -> dict[str, Any]:
        return {key: value.format(url=url) if isinstance(value, str) else value for key, value in self.part.items()}

    @asynccontextmanager
    async def open(self, url: str) -> AsyncIterator[Agent]:
        given = self.configured(url)
        module = find("agents", given.pop("type"))
        agent: Agent = module.build(options(module)(**given), cast(Parts, None))
        async with AsyncExitStack() as stack:
            if isinstance(agent, AbstractAsyncContextManager):
                await stack.enter_async_context(agent)
            yield agent


def agui(path: str) -> dict[str, str]:
    return {"type": "agui", "url": f"{{url}}{path}"}


REMOTE = {"type": "copilotkit", "url": "{url}/remote", "agent": "graph"}
GRAPH = ("LangGraph", "Ada", "Hello Ada")
SUBJECTS = {
    "agui: pydantic-ai": Subject(
        "pydantic-ai", agui("/agent"), "pydantic-ai", {"approved": True}, "Done: deleted a.txt"
    ),
    # LangGraph's adapter breaks off the answer to a client that is gone, but not the graph behind it.
    "agui: ag-ui-langgraph": Subject("ag-ui-langgraph", agui("/agent"), *GRAPH, stops="closed"),
    "agui: ag-ui-langgraph, outcome": Subject("ag-ui-langgraph", agui("/outcome"), *GRAPH, stops="closed"),
    "agui: copilotkit 0.1.96": Subject("copilotkit 0.1.96", agui("/agent"), *GRAPH, stops="closed"),
    "agui: ag-ui-crewai": Subject("ag-ui-crewai", agui("/agent"), "CrewAI", "Ada", "Hello Ada"),
    "copilotkit: copilotkit 0.1.63": Subject("copilotkit 0.1.63", REMOTE, *GRAPH),
    "langgraph: langgraph dev": Subject("langgraph dev", {"type": "langgraph", "url": "{url}"}, *GRAPH),
    "langgraph: in this process": Subject(HERE, {"type": "langgraph", "graph": "graph:served"}, *GRAPH),
}
