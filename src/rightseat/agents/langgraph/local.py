"""A graph in this process."""

import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt
from pydantic import BaseModel, JsonValue

from rightseat.agents.langgraph.running import Saying, thread_id, write_config
from rightseat.core.ask import Ask
from rightseat.core.closing import closing
from rightseat.core.engine import Steps
from rightseat.core.errors import ConfigError
from rightseat.core.events import Event
from rightseat.parts import load
from rightseat.wire.langgraph import Reader, write_command, write_input

logger = logging.getLogger(__name__)

MODES = ["messages", "values", "updates", "custom"]


class Local:
    """`reference` names a compiled graph, or a function without arguments that makes one."""

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
        self._graph = with_memory(load(reference), reference)
        self._config = dict(config or {})
        self._client_config = client_config
        self._show_errors = show_errors

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        config: Any = write_config(self._config, ask, client_config=self._client_config)
        config["configurable"]["thread_id"] = thread_id(ask)
        values = plain((await self._graph.aget_state(config)).values)
        saying = Saying(ask, Reader(values.get("messages") or (), ask.messages), show_errors=self._show_errors)
        try:
            async with closing(self._graph.astream(write(ask, values), config, stream_mode=MODES)) as events:
                async for mode, data in events:
                    for event in saying.feed(mode, plain(data)):
                        yield event
        except Exception as error:
            logger.warning("run %s: the graph failed", ask.run_id, exc_info=error)
            for event in saying.feed("error", {"error": type(error).__name__, "message": str(error)}):
                yield event
            return
        for event in saying.end():
            yield event


def write(ask: Ask, values: dict[str, Any]) -> Any:
    if command := write_command(ask):
        return Command(**command)
    given = write_input(ask, values)
    return given | {"messages": convert_to_messages(given["messages"])}


def with_memory(found: Any, reference: str) -> Any:
    """The graph, with a place for its threads: without one it could not be asked a second time, nor ask itself."""
    graph: Any = found if hasattr(found, "astream") else found() if callable(found) else None
    if not hasattr(graph, "astream"):
        raise ConfigError(f"{reference!r} is no compiled graph, and no function that makes one.")
    if getattr(graph, "checkpointer", None) is None:
        return graph.copy(update={"checkpointer": InMemorySaver()})
    return graph


def plain(value: Any) -> Any:
    """What a graph streams, as the JSON that a server would send."""
    match value:
        case BaseMessage() | BaseModel():
            return plain(value.model_dump())
        case Interrupt():
            return {"id": value.id, "value": plain(value.value)}
        case dict():
            return {str(key): plain(one) for key, one in value.items()}
        case list() | tuple() | set():
            return [plain(one) for one in value]
        case None | bool() | int() | float() | str():
            return value
    return str(value)
