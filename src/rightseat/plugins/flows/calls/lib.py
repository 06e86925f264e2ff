"""`lib.<tool>`: a Python tool of the plugin, in a process of its own."""

from rightseat.core.values import JsonValue
from rightseat.plugins import prompting, slots
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.results import Result, StepFailed
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.slots import Filled


async def prepare(turn: Turn, given: dict[str, JsonValue], earlier: Filled | None) -> Filled:
    known = await tool_runner(turn).tools(turn.plugin)
    if turn.step.call not in known:
        listed = ", ".join(known) or "none"
        raise StepFailed("tool_failed", f"The plugin has no tool {turn.step.call!r}. It has: {listed}.")
    tool = known[turn.step.call]
    fixed = {**turn.params, **turn.step.args}
    return await slots.complete(
        tool.params,
        {name: prompting.argument(value, turn.scene) for name, value in fixed.items()},
        turn.scene,
        turn.means.voice,
        name=turn.name,
        description=tool.description,
        given=given,
        earlier=earlier,
    )


async def perform(turn: Turn, filled: Filled) -> Result:
    if turn.means.is_dry:
        return Result(message=f"{turn.step.call} was not run: a dry run", record={"dry_run": True})
    return await tool_runner(turn).run(
        turn.plugin,
        turn.step.call,
        filled.arguments,
        turn.scene,
        turn.means.voice,
        seconds=turn.limit,
        name=turn.name,
    )


def tool_runner(turn: Turn) -> ToolRunner:
    if turn.means.tool_runner is None:
        raise StepFailed("tool_failed", "This server runs no tools of plugins.")
    return turn.means.tool_runner


def check(turn: Turn, arguments: dict[str, JsonValue]) -> dict[str, str]:
    """What is wrong with arguments that a person has changed: the tool itself says so."""
    return {}


def described(turn: Turn) -> dict[str, JsonValue]:
    return {"tool": turn.step.call, "plugin": turn.plugin.id}


def is_dangerous(turn: Turn) -> bool:
    return False


def has_effect(turn: Turn) -> bool:
    return True
