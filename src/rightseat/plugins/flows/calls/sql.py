"""`sql`: a question to a database, as a statement that a model writes and that is judged before it is run."""

from dataclasses import replace

from rightseat.plugins.flows.means import Means, Turn
from rightseat.plugins.results import Result, StepFailed
from rightseat.plugins.speaking import Said, Wanted
from rightseat.plugins.sql import asking


async def perform(turn: Turn) -> Result:
    if turn.means.is_dry:
        return Result([], "no statement was run: a dry run", record={"dry_run": True})
    if turn.means.databases is None:
        raise StepFailed("sql_failed", "This server has no databases for plugins.")
    return await asking.query(turn.plugin, turn.step, turn.scene, Covering(turn.means), turn.means.databases)


class Covering:
    """A model is told how its statement failed, and what a database says of that may quote a row with a secret."""

    def __init__(self, means: Means) -> None:
        self._means = means

    async def say(self, wanted: Wanted) -> Said:
        return await self._means.voice.say(replace(wanted, user=self._means.redactor.text(wanted.user)))
