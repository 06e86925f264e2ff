"""`lib.<tool>`: runs a Python tool of the plugin in a sandboxed process."""

from rightseat.core.types import JsonValue
from rightseat.plugins import slots
from rightseat.plugins.expressions import prompts
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.results import StepFailed, StepResult
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.slots import FilledSlots


async def prepare(context: StepContext, form_values: dict[str, JsonValue], previous: FilledSlots | None) -> FilledSlots:
    tools = await find_tool_runner(context).tools(context.plugin)
    if context.step.call not in tools:
        listed = ", ".join(tools) or "none"
        raise StepFailed("tool_failed", f"The plugin has no tool {context.step.call!r}. It has: {listed}.")
    tool = tools[context.step.call]
    fixed = {**context.params, **context.step.args}
    return await slots.fill_schema(
        tool.params,
        {name: prompts.fill_argument(value, context.scope) for name, value in fixed.items()},
        context.scope,
        context.dependencies.model,
        name=context.name,
        description=tool.description,
        form_values=form_values,
        previous=previous,
    )


async def perform(context: StepContext, filled: FilledSlots) -> StepResult:
    if context.dependencies.is_dry:
        return StepResult(message=f"{context.step.call} was not run (dry run)", record={"dry_run": True})
    return await find_tool_runner(context).run(
        context.plugin,
        context.step.call,
        filled.arguments,
        context.scope,
        context.dependencies.model,
        seconds=context.timeout,
        name=context.name,
    )


def find_tool_runner(context: StepContext) -> ToolRunner:
    if context.dependencies.tool_runner is None:
        raise StepFailed("tool_failed", "This server does not run plugin tools.")
    return context.dependencies.tool_runner


def check(context: StepContext, arguments: dict[str, JsonValue]) -> dict[str, str]:
    """Edited arguments are validated by the tool itself."""
    return {}


def describe(context: StepContext) -> dict[str, JsonValue]:
    return {"tool": context.step.call, "plugin": context.plugin.id}


def is_dangerous(context: StepContext) -> bool:
    return False


def has_effect(context: StepContext) -> bool:
    return True
