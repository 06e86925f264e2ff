"""`api`: sends one request of the OpenAPI document, after filling its arguments."""

import msgspec

from rightseat.core.types import JsonValue
from rightseat.parts import hint
from rightseat.plugins import slots
from rightseat.plugins.call_types import RAW, TEXT, CallType, PreparedStepCall
from rightseat.plugins.definition import Operation, Step, find_operation
from rightseat.plugins.diagnostics import find_replacement
from rightseat.plugins.expressions import prompts
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.flows.examples import build_example
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.nodes import DiagnosticReport
from rightseat.plugins.results import StepFailed, StepResult
from rightseat.plugins.slots import FilledSlots


async def prepare(context: StepContext, form_values: dict[str, JsonValue], previous: FilledSlots | None) -> FilledSlots:
    """`form_values` are a person's entries, `previous` the incomplete arguments from before the question."""
    return await slots.fill_operation(
        context.plugin,
        find_step_operation(context),
        fill_arguments(context),
        context.scope,
        context.dependencies.model,
        name=context.name,
        form_values=form_values,
        previous=previous,
    )


async def perform(context: StepContext, filled: FilledSlots) -> StepResult:
    operation, files = find_step_operation(context), slots.label_uploads(context.scope)
    if context.dependencies.is_dry:
        request = context.dependencies.sender.preview(
            context.plugin, operation, filled.arguments, files, context.scope.user
        )
        record: dict[str, JsonValue] = {"request": msgspec.to_builtins(request), "dry_run": True}
        if problems := context.dependencies.sender.list_secret_problems(context.plugin):
            record["warnings"] = [*problems]
        summary = ". ".join([f"{operation.name} was not sent (dry run)", *problems])
        return StepResult(build_example(operation.response or {}), summary, record=record)
    return await context.dependencies.sender.send(
        context.plugin,
        operation,
        filled.arguments,
        files,
        context.scope.user,
        timeout=context.timeout,
        idempotency_key=context.key or None,
        user_token=context.dependencies.user_token,
    )


def check(context: StepContext, arguments: dict[str, JsonValue]) -> dict[str, str]:
    """Return the problems of arguments that a person edited, by name."""
    return slots.check_arguments(context.plugin, find_step_operation(context), arguments, context.scope)


def describe(context: StepContext) -> dict[str, JsonValue]:
    operation = find_step_operation(context)
    return {"method": operation.method, "server": context.plugin.server, "path": operation.path}


def is_dangerous(context: StepContext) -> bool:
    return bool(find_step_operation(context).dangerous)


def has_effect(context: StepContext) -> bool:
    return not find_step_operation(context).is_safe


def find_step_operation(context: StepContext) -> Operation:
    operation = context.plugin.operation(context.text("endpoint"))
    if operation is None:
        raise StepFailed("internal", f"The plugin has no operation {context.text('endpoint')!r}.")
    return operation


def fill_arguments(context: StepContext) -> dict[str, JsonValue]:
    return {name: prompts.fill_argument(value, context.scope) for name, value in context.step.args.items()}


def check_params(fields: Fields, name: str, context: LoadContext, report: DiagnosticReport) -> None:
    endpoint = fields.text("endpoint", required=True)
    node = fields.node.get("endpoint")
    if not endpoint or node is None or find_operation(endpoint, context.operations):
        return
    names = [*context.operations, *(one.id for one in context.operations.values() if one.id)]
    message = f"there is no operation {endpoint!r}.{hint(' '.join(endpoint.split()), names)}"
    better = find_replacement(endpoint, names)
    report.add("E401", node, message, "METHOD /path as in openapi.yaml, or an operationId", replacement=better)


def label(step: Step) -> str:
    return str(step.params.get("endpoint", ""))


CALL = CallType(
    runner=PreparedStepCall(prepare, perform, check, describe, is_dangerous, has_effect),
    summary="Sends one request of openapi.yaml. A model fills in missing arguments; a person is asked for the rest.",
    params={
        "endpoint": {**TEXT, "description": "`METHOD /path` as in openapi.yaml, or an operationId."},
        "raw": RAW,
    },
    check=check_params,
    label=label,
    timeout=60.0,
    takes_args=True,
)
