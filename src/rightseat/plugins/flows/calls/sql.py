"""`sql`: a question to a database, as a statement that a model writes and that is judged before it is run."""

from dataclasses import replace

from rightseat.parts import hint
from rightseat.plugins.call_types import RAW, SECONDS, TEXT, CallType, Plain
from rightseat.plugins.definition import Step
from rightseat.plugins.flows.means import Means, Turn
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.notes import Notes
from rightseat.plugins.loading.params import Surroundings
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


def check_params(fields: Fields, name: str, around: Surroundings, notes: Notes) -> None:
    """Without databases of its own a plugin has the one that the operator binds to it, which is not known here."""
    database = fields.text("database")
    fields.number("max_rows", 1, 100_000, whole=True)
    fields.number("timeout", 0.001, 3600)
    if database and database not in around.databases:
        node = fields.node.get("database") or fields.node
        notes.add("E601", node, f"plugin.json has no database {database!r}.{hint(database, around.databases)}")
    elif not database and len(around.databases) > 1:
        known = ", ".join(around.databases)
        notes.add("E601", fields.node, "`database` is missing, and there are several.", f"one of: {known}")


def label(step: Step) -> str:
    return str(step.params.get("database", ""))


CALL = CallType(
    runner=Plain(perform),
    summary="Queries a database in plain language, read-only, over the tables of its catalog.",
    params={
        "database": {**TEXT, "description": "One of `databases` of plugin.json."},
        "max_rows": {"type": "integer", "minimum": 1},
        "timeout": SECONDS,
        "raw": RAW,
    },
    check=check_params,
    label=label,
)
