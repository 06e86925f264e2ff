"""`sql`: answers a question from a database with a statement that a model writes and two checks restrict."""

from dataclasses import replace

from rightseat.parts import hint
from rightseat.plugins.call_types import RAW, SECONDS, TEXT, CallType, StepCall
from rightseat.plugins.definition import Step
from rightseat.plugins.diagnostics import find_replacement
from rightseat.plugins.flows.dependencies import Dependencies, StepContext
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.nodes import DiagnosticReport
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.results import StepFailed, StepResult
from rightseat.plugins.sql import query


async def perform(context: StepContext) -> StepResult:
    if context.dependencies.is_dry:
        return StepResult([], "no statement was run (dry run)", record={"dry_run": True})
    if context.dependencies.databases is None:
        raise StepFailed("sql_failed", "This server has no databases configured for plugins.")
    model = RedactingModelCaller(context.dependencies)
    return await query.run_query(context.plugin, context.step, context.scope, model, context.dependencies.databases)


class RedactingModelCaller:
    """Redacts prompts: they quote the database's message about a failed statement, which may hold a secret."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    async def call(self, request: ModelRequest) -> ModelResponse:
        return await self._dependencies.model.call(
            replace(request, user=self._dependencies.redactor.redact_text(request.user))
        )


def check_params(fields: Fields, name: str, context: LoadContext, report: DiagnosticReport) -> None:
    """A plugin without databases uses the one that the operator binds, which is not known when it is loaded."""
    database = fields.text("database")
    fields.number("max_rows", 1, 100_000, integer=True)
    fields.number("timeout", 0.001, 3600)
    if database and database not in context.databases:
        node = fields.node.get("database") or fields.node
        message = f"plugin.json has no database {database!r}.{hint(database, context.databases)}"
        report.add("E601", node, message, replacement=find_replacement(database, context.databases))
    elif not database and len(context.databases) > 1:
        names = ", ".join(context.databases)
        report.add("E601", fields.node, "`database` is missing, and the plugin has several.", f"one of: {names}")


def label(step: Step) -> str:
    return str(step.params.get("database", ""))


CALL = CallType(
    runner=StepCall(perform),
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
