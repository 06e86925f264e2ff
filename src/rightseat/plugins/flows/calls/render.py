"""`render`: a chart of the table in `data`."""

from rightseat.plugins import charts
from rightseat.plugins.call_types import RAW, TEXT, TEXTS, CallType, Plain
from rightseat.plugins.charts.kinds import KINDS, SCALES
from rightseat.plugins.definition import Step
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.notes import Notes
from rightseat.plugins.loading.params import Surroundings
from rightseat.plugins.results import Result


async def perform(turn: Turn) -> Result:
    return await charts.render(turn.step, turn.scene, turn.means.voice)


def check_params(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    fields.choice("type", tuple(KINDS))
    fields.choice("scale", SCALES)
    fields.text("x")
    fields.texts("y", or_one=True)
    fields.text("title")


def label(step: Step) -> str:
    return str(step.params.get("type", ""))


CALL = CallType(
    runner=Plain(perform),
    summary="Draws the table in `data` as a chart. A model chooses what is not given, among the columns.",
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
