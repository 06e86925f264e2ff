"""`render`: draws a chart of the table in `data`."""

from rightseat.plugins import charts
from rightseat.plugins.call_types import RAW, TEXT, TEXTS, CallType, StepCall
from rightseat.plugins.charts.kinds import KINDS, SCALES
from rightseat.plugins.definition import Step
from rightseat.plugins.flows.dependencies import StepContext
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.nodes import DiagnosticReport
from rightseat.plugins.results import StepResult


async def perform(context: StepContext) -> StepResult:
    return await charts.render(context.step, context.scope, context.dependencies.model)


def check_params(fields: Fields, name: str, context: LoadContext, report: DiagnosticReport) -> None:
    fields.choice("type", tuple(KINDS))
    fields.choice("scale", SCALES)
    fields.text("x")
    fields.texts("y", or_single=True)
    fields.text("title")


def label(step: Step) -> str:
    return str(step.params.get("type", ""))


CALL = CallType(
    runner=StepCall(perform),
    calls_models_only=True,
    summary="Draws the table in `data` as a chart. A model chooses the options that are not set.",
    params={
        "type": {"enum": list(KINDS)},
        "x": TEXT,
        "y": {"anyOf": [TEXT, TEXTS]},
        "stack": {"type": ["boolean", "string"]},
        "ring": {"type": "boolean"},
        "scale": {"enum": list(SCALES)},
        "title": TEXT,
        "raw": RAW,
    },
    check=check_params,
    label=label,
    keeps_data=True,
    is_external=False,
)
