"""Runs a LangGraph graph in this process."""

import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt
from pydantic import BaseModel, JsonValue

from rightseat.agents.langgraph.runner import GraphRun, read_thread, thread_id, write_config
from rightseat.concurrency import aclosing
from rightseat.core.agent import AgentThread
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.errors import ConfigError
from rightseat.core.events import Event
from rightseat.parts import load
from rightseat.wire.langgraph import LangGraphDecoder, write_command, write_input

logger = logging.getLogger(__name__)

MODES = ["messages", "values", "updates", "custom"]


class LocalGraph:
    """`reference` names a compiled graph, or a function without arguments that returns one."""

    def __init__(
        self,
        reference: str,
        *,
        config: Mapping[str, JsonValue] | None = None,
        client_config: bool = False,
        description: str = "",
        show_errors: bool = False,
    ) -> None:
        self.description = description
        self._graph = add_checkpointer(load(reference), reference)
        self._config = dict(config or {})
        self._client_config = client_config
        self._show_errors = show_errors

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        config = self._thread_config(ask)
        values = await self._values(config)
        run = GraphRun(ask, LangGraphDecoder(values.get("messages") or (), ask.messages), show_errors=self._show_errors)
        try:
            async with aclosing(self._graph.astream(make_input(ask, values), config, stream_mode=MODES)) as events:
                async for mode, data in events:
                    for event in run.feed(mode, to_json(data)):
                        yield event
        except Exception as error:
            logger.warning("run %s: the graph failed", ask.run_id, exc_info=error)
            for event in run.feed("error", {"error": type(error).__name__, "message": str(error)}):
                yield event
            return
        for event in run.end():
            yield event

    async def load_thread(self, ask: Ask) -> AgentThread | None:
        return read_thread(await self._values(self._thread_config(ask)))

    def _thread_config(self, ask: Ask) -> Any:
        config: Any = write_config(self._config, ask, client_config=self._client_config)
        config["configurable"]["thread_id"] = thread_id(ask)
        return config

    async def _values(self, config: Any) -> dict[str, Any]:
        values: dict[str, Any] = to_json((await self._graph.aget_state(config)).values)
        return values


def make_input(ask: Ask, values: dict[str, Any]) -> Any:
    if command := write_command(ask):
        return Command(**command)
    graph_input = write_input(ask, values)
    return graph_input | {"messages": convert_to_messages(graph_input["messages"])}


def add_checkpointer(found: Any, reference: str) -> Any:
    """Add a checkpointer if the graph has none: second messages and interrupts require one."""
    graph: Any = found if hasattr(found, "astream") else found() if callable(found) else None
    if not hasattr(graph, "astream"):
        raise ConfigError(
            f"`graph: {reference}` should name a compiled graph, or a function without arguments that returns one."
        )
    if getattr(graph, "checkpointer", None) is None:
        return graph.copy(update={"checkpointer": InMemorySaver()})
    return graph


def to_json(value: Any) -> Any:
    """Convert streamed values to the JSON that a server would send."""
    match value:
        case BaseMessage() | BaseModel():
            return to_json(value.model_dump())
        case Interrupt():
            return {"id": value.id, "value": to_json(value.value)}
        case dict():
            return {str(key): to_json(one) for key, one in value.items()}
        case list() | tuple() | set():
            return [to_json(one) for one in value]
        case None | bool() | int() | float() | str():
            return value
    return str(value)
