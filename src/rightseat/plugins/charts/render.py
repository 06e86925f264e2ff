"""`call_type: render`: turns rows into a chart. A model may choose the columns; it never writes the chart."""

from rightseat.plugins.charts import echarts, spec, table
from rightseat.plugins.definition import Step
from rightseat.plugins.model_calls import ModelCaller
from rightseat.plugins.results import Artifact, StepResult
from rightseat.plugins.scope import Scope

MEDIA_TYPE = "application/vnd.echarts+json"


async def render(step: Step, scope: Scope, model: ModelCaller) -> StepResult:
    """Return the option as output and as artifact. Raises `StepFailed("render_input")` if the data cannot be drawn."""
    rows = table.read(scope.data)
    drawing, usage = await spec.build_spec(step, scope, rows, model)
    written, notes = echarts.build_option(drawing, rows)
    name = drawing.title or f"{', '.join(drawing.y)} / {drawing.x}"
    return StepResult(
        output=written,
        message=" ".join([f"A {drawing.type} chart: {name}.", *notes]),
        artifacts=(Artifact("chart", name, MEDIA_TYPE, option=written),),
        usage=usage,
        record={"notes": [*notes]},
    )
