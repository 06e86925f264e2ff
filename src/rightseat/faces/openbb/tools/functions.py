"""Functions that Workspace runs, offered to the model as tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.types import JsonValue

Arguments = Mapping[str, Any]


def _copy_arguments(arguments: Arguments) -> dict[str, Any]:
    return dict(arguments)


@dataclass(frozen=True, slots=True)
class WorkspaceFunction:
    """`write` converts the model's arguments to `input_arguments` of the protocol, `announce` makes the user's status.

    `function` is the protocol's name, if it differs from the tool's.
    """

    offer: ToolOffer
    write: Callable[[Arguments], dict[str, Any]] = _copy_arguments
    announce: Callable[[Arguments], "StatusStep | str"] | None = None
    function: str = ""

    @property
    def name(self) -> str:
        return self.function or self.offer.name


@dataclass(frozen=True, slots=True)
class StatusStep:
    """A status line below the answer."""

    message: str
    details: list[JsonValue] = field(default_factory=list)


def schema(properties: Mapping[str, JsonValue], required: tuple[str, ...] = ()) -> dict[str, JsonValue]:
    """The JSON Schema of a tool's arguments."""
    found: dict[str, JsonValue] = {"type": "object", "properties": dict(properties)}
    return found | ({"required": list(required)} if required else {})
