"""The calls of steps, by their names: one module each."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Step
from rightseat.plugins.flows.calls import api, choice, extract, lib, llm, none, render, sql
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.results import Result
from rightseat.plugins.slots import Filled


@dataclass(frozen=True, slots=True)
class Plain:
    perform: Callable[[Turn], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class Armed:
    """A call whose arguments are found before it is made: a person may be asked for them, or to allow it."""

    prepare: Callable[[Turn, dict[str, JsonValue], Filled | None], Awaitable[Filled]]
    perform: Callable[[Turn, Filled], Awaitable[Result]]
    check: Callable[[Turn, dict[str, JsonValue]], dict[str, str]]
    described: Callable[[Turn], dict[str, JsonValue]]
    is_dangerous: Callable[[Turn], bool]
    has_effect: Callable[[Turn], bool]


CALLS: dict[str, Plain | Armed] = {
    "api": Armed(api.prepare, api.perform, api.check, api.described, api.is_dangerous, api.has_effect),
    "choice": Plain(choice.perform),
    "extract": Plain(extract.perform),
    "llm": Plain(llm.perform),
    "none": Plain(none.perform),
    "render": Plain(render.perform),
    "sql": Plain(sql.perform),
}
LIB = Armed(lib.prepare, lib.perform, lib.check, lib.described, lib.is_dangerous, lib.has_effect)


def call_of(step: Step) -> Plain | Armed:
    return LIB if step.is_lib else CALLS[step.call]
