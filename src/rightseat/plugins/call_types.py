"""The call types of steps: `call_type: extract` is the module `flows/calls/extract.py`, which declares itself.

Each module of that folder that has a `CALL` is a call type. Nothing else lists them: loading, the JSON Schema for
editors, the reference, the run of a flow and its drawing ask here. The modules are imported when they are first asked
for, so that loading does not import what runs flows.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Step

if TYPE_CHECKING:
    from rightseat.plugins.flows.means import Turn
    from rightseat.plugins.loading.fields import Fields
    from rightseat.plugins.loading.notes import Notes
    from rightseat.plugins.loading.params import Surroundings
    from rightseat.plugins.results import Result
    from rightseat.plugins.slots import Filled

FOLDER = "rightseat.plugins.flows.calls"

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
SECONDS: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0}
RAW: dict[str, Any] = {"type": "boolean", "description": "Do not mark data from outside as data."}


@dataclass(frozen=True, slots=True)
class Plain:
    perform: "Callable[[Turn], Awaitable[Result]]"


@dataclass(frozen=True, slots=True)
class Armed:
    """A call whose arguments are found before it is made: a person may be asked for them, or to allow it."""

    prepare: "Callable[[Turn, dict[str, JsonValue], Filled | None], Awaitable[Filled]]"
    perform: "Callable[[Turn, Filled], Awaitable[Result]]"
    check: "Callable[[Turn, dict[str, JsonValue]], dict[str, str]]"
    described: "Callable[[Turn], dict[str, JsonValue]]"
    is_dangerous: "Callable[[Turn], bool]"
    has_effect: "Callable[[Turn], bool]"


def no_check(fields: "Fields", name: str, around: "Surroundings", notes: "Notes") -> None:
    pass


def no_label(step: Step) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallType:
    """All that is known about one call type."""

    runner: Plain | Armed
    summary: str
    """What it does, for the reference."""
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """JSON Schemas of what `params` may hold."""
    check: "Callable[[Fields, str, Surroundings, Notes], None]" = no_check
    """Checks `params` when a plugin is loaded; the text is the name of the step."""
    label: Callable[[Step], str] = no_label
    """What a drawing shows of the step beside its call type."""
    timeout: float = 30.0
    """Seconds of one attempt, where the step names none."""
    takes_args: bool = False
    """The step may have `args`: values that the model cannot change."""
    has_templates: bool = False
    """The texts in `params` are templates."""
    keeps_data: bool = False
    """The step leaves `data` as it was."""
    is_external: bool = True
    """The output may hold text from outside, which a model must read as data."""


@cache
def call_types() -> Mapping[str, CallType]:
    """By name, in the order of the alphabet."""
    names = sorted(module.name for module in iter_modules(import_module(FOLDER).__path__))
    modules = {name: import_module(f"{FOLDER}.{name}") for name in names}
    return {name: module.CALL for name, module in modules.items() if hasattr(module, "CALL")}
