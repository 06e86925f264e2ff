"""`api`: one request of the plugin's document. Its arguments are found first, so that a person can be shown them."""

import msgspec

from rightseat.core.values import JsonValue
from rightseat.parts import hint
from rightseat.plugins import prompting, slots
from rightseat.plugins.call_types import RAW, TEXT, Armed, CallType
from rightseat.plugins.definition import Operation, Step, find_operation
from rightseat.plugins.flows.examples import example
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.notes import Notes
from rightseat.plugins.loading.params import Surroundings
from rightseat.plugins.results import Result, StepFailed
from rightseat.plugins.slots import Filled


async def prepare(turn: Turn, given: dict[str, JsonValue], earlier: Filled | None) -> Filled:
    """`given` is what a person typed in, `earlier` the arguments that this was missing from."""
    return await slots.fill(
        turn.plugin,
        operation_of(turn),
        arguments_of(turn),
        turn.scene,
        turn.means.voice,
        name=turn.name,
        given=given,
        earlier=earlier,
    )


async def perform(turn: Turn, filled: Filled) -> Result:
    operation, files = operation_of(turn), slots.uploads(turn.scene)
    if turn.means.is_dry:
        request = turn.means.sender.preview(turn.plugin, operation, filled.arguments, files, turn.scene.user)
        record: dict[str, JsonValue] = {"request": msgspec.to_builtins(request), "dry_run": True}
        return Result(example(operation.response or {}), f"{operation.name} was not sent: a dry run", record=record)
    return await turn.means.sender.send(
        turn.plugin,
        operation,
        filled.arguments,
        files,
        turn.scene.user,
        timeout=turn.limit,
        idempotency_key=turn.key or None,
        user_token=turn.means.token,
    )


def check(turn: Turn, arguments: dict[str, JsonValue]) -> dict[str, str]:
    """What is wrong with arguments that a person has changed."""
    return slots.check(turn.plugin, operation_of(turn), arguments, turn.scene)


def described(turn: Turn) -> dict[str, JsonValue]:
    operation = operation_of(turn)
    return {"method": operation.method, "server": turn.plugin.server, "path": operation.path}


def is_dangerous(turn: Turn) -> bool:
    return bool(operation_of(turn).dangerous)


def has_effect(turn: Turn) -> bool:
    return not operation_of(turn).is_safe


def operation_of(turn: Turn) -> Operation:
    operation = turn.plugin.operation(turn.text("endpoint"))
    if operation is None:
        raise StepFailed("internal", f"The plugin has no operation {turn.text('endpoint')!r}.")
    return operation


def arguments_of(turn: Turn) -> dict[str, JsonValue]:
    return {name: prompting.argument(value, turn.scene) for name, value in turn.step.args.items()}


def check_params(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    endpoint = fields.text("endpoint", required=True)
    node = fields.node.get("endpoint")
    if not endpoint or node is None or find_operation(endpoint, around.operations):
        return
    known = [*around.operations, *(one.id for one in around.operations.values() if one.id)]
    said = f"there is no operation {endpoint!r}.{hint(' '.join(endpoint.split()), known)}"
    notes.add("E401", node, said, "METHOD /path as in openapi.yaml, or an operationId")


def label(step: Step) -> str:
    return str(step.params.get("endpoint", ""))


CALL = CallType(
    runner=Armed(prepare, perform, check, described, is_dangerous, has_effect),
    summary="Sends one request of openapi.yaml. A model fills what is not known; a person is asked for the rest.",
    params={
        "endpoint": {**TEXT, "description": "`METHOD /path` as in openapi.yaml, or an operationId."},
        "raw": RAW,
    },
    check=check_params,
    label=label,
    timeout=60.0,
    takes_args=True,
)
