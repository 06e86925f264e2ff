"""The call types of steps: `call_type: extract` is declared by the module `flows/calls/extract.py`.

Each module of that folder with a `CALL` is a call type. No other list exists: the loader, the JSON Schema for editors,
the reference, the flow runner and the diagrams all use `call_types()`. It imports the modules on first use, so that
importing the loader does not import the flow runner.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Step

if TYPE_CHECKING:
    from rightseat.plugins.flows.dependencies import StepContext
    from rightseat.plugins.loading.context import LoadContext
    from rightseat.plugins.loading.fields import Fields
    from rightseat.plugins.loading.nodes import DiagnosticReport
    from rightseat.plugins.results import StepResult
    from rightseat.plugins.slots import FilledSlots

CALLS_PACKAGE = "rightseat.plugins.flows.calls"

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
SECONDS: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0}
RAW: dict[str, Any] = {"type": "boolean", "description": "Do not mark data from outside as data."}


@dataclass(frozen=True, slots=True)
class StepCall:
    """A call that is made at once."""

    perform: "Callable[[StepContext], Awaitable[StepResult]]"


@dataclass(frozen=True, slots=True)
class PreparedStepCall:
    """A call with arguments that are filled first: a person may be asked for them, or for approval."""

    prepare: "Callable[[StepContext, dict[str, JsonValue], FilledSlots | None], Awaitable[FilledSlots]]"
    perform: "Callable[[StepContext, FilledSlots], Awaitable[StepResult]]"
    check: "Callable[[StepContext, dict[str, JsonValue]], dict[str, str]]"
    describe: "Callable[[StepContext], dict[str, JsonValue]]"
    is_dangerous: "Callable[[StepContext], bool]"
    has_effect: "Callable[[StepContext], bool]"


def no_check(fields: "Fields", name: str, context: "LoadContext", report: "DiagnosticReport") -> None:
    pass


def no_label(step: Step) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallType:
    """The declaration of one call type."""

    runner: StepCall | PreparedStepCall
    summary: str
    """One sentence for the reference."""
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """JSON Schemas of the keys of `params`."""
    check: "Callable[[Fields, str, LoadContext, DiagnosticReport], None]" = no_check
    """Checks `params` when a plugin is loaded; the string argument is the name of the step."""
    label: Callable[[Step], str] = no_label
    """The second line of the step in a diagram, below its call type."""
    timeout: float = 30.0
    """Default seconds for one attempt."""
    takes_args: bool = False
    """The step may have `args`: fixed values that the model cannot change."""
    has_templates: bool = False
    """The texts in `params` are templates."""
    keeps_data: bool = False
    """The step does not change `data`."""
    is_external: bool = True
    """The output may contain untrusted text, which prompts mark as data."""
    calls_models_only: bool = False
    """The step reaches nothing outside but models. An evaluation runs only such steps, and serves all others."""


@cache
def call_types() -> Mapping[str, CallType]:
    """By name, in alphabetical order."""
    names = sorted(module.name for module in iter_modules(import_module(CALLS_PACKAGE).__path__))
    modules = {name: import_module(f"{CALLS_PACKAGE}.{name}") for name in names}
    return {name: module.CALL for name, module in modules.items() if hasattr(module, "CALL")}


def calls_models_only(step: Step) -> bool:
    call_type = None if step.is_lib else call_types().get(step.call)
    return call_type is not None and call_type.calls_models_only


def is_external(name: str) -> bool:
    """Whether the output may contain untrusted text. True for tools in `lib`, which have no call type."""
    call_type = call_types().get(name)
    return call_type is None or call_type.is_external
