"""Tools with which a model changes the state shared with the client.

Configure them with `tools: [rightseat.toolboxes.state:tools]`.
"""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from rightseat.core.events import StateChanged, StateReplaced
from rightseat.core.tools import Invocation
from rightseat.toolboxes.functions import tool


@tool(name="AGUISendStateSnapshot", description="Replace the state that the application and you share.")
async def replace_state(
    snapshot: Annotated[dict[str, Any], Field(description="The whole new state.")], invocation: Invocation
) -> str:
    invocation.emit(StateReplaced(snapshot))
    return "The state was replaced."


@tool(name="AGUISendStateDelta", description="Change parts of the state that the application and you share.")
async def change_state(
    delta: Annotated[list[dict[str, Any]], Field(description="A JSON Patch (RFC 6902).")], invocation: Invocation
) -> str:
    invocation.emit(StateChanged(list(delta)))
    return "The state was changed."


tools: list[Callable[..., object]] = [replace_state, change_state]
