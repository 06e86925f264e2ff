"""`call_type: render`: rows become a chart. A model may choose the columns; it never writes the chart."""

from rightseat.plugins.charts import deciding, option, table
from rightseat.plugins.definition import Step
from rightseat.plugins.results import Artifact, Result
from rightseat.plugins.scene import Scene
from rightseat.plugins.speaking import Speaker

MEDIA_TYPE = "application/vnd.echarts+json"


async def render(step: Step, scene: Scene, speaker: Speaker) -> Result:
    """The option, as output and as a chart. Raises `StepFailed("render_input")`: there is nothing to draw."""
    rows = table.read(scene.data)
    drawing, usage = await deciding.decide(step, scene, rows, speaker)
    written, notes = option.build(drawing, rows)
    name = drawing.title or f"{', '.join(drawing.y)} / {drawing.x}"
    return Result(
        output=written,
        message=" ".join([f"A {drawing.type} chart: {name}.", *notes]),
        artifacts=(Artifact("chart", name, MEDIA_TYPE, option=written),),
        usage=usage,
        record={"notes": [*notes]},
    )
