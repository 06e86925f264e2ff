"""`render`: a chart of the table in `data`."""

from rightseat.plugins import charts
from rightseat.plugins.flows.means import Turn
from rightseat.plugins.results import Result


async def perform(turn: Turn) -> Result:
    return await charts.render(turn.step, turn.scene, turn.means.voice)
