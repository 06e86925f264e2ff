"""Functions that Workspace runs, as tools that a model may call."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.values import JsonValue

Arguments = Mapping[str, Any]


def _as_given(arguments: Arguments) -> dict[str, Any]:
    return dict(arguments)


@dataclass(frozen=True, slots=True)
class Function:
    """`write` makes the wire's `input_arguments` of what the model said; `announce` the step that the user sees.

    `function` is the wire's name for it, where that is not the tool's.
    """

    offer: ToolOffer
    write: Callable[[Arguments], dict[str, Any]] = _as_given
    announce: Callable[[Arguments], "Step | str"] | None = None
    function: str = ""

    @property
    def name(self) -> str:
        return self.function or self.offer.name


@dataclass(frozen=True, slots=True)
class Step:
    """A line under the answer that says what is being done."""

    message: str
    details: list[JsonValue] = field(default_factory=list)


def schema(properties: Mapping[str, JsonValue], required: tuple[str, ...] = ()) -> dict[str, JsonValue]:
    """The JSON Schema of a tool's arguments."""
    found: dict[str, JsonValue] = {"type": "object", "properties": dict(properties)}
    return found | ({"required": list(required)} if required else {})
