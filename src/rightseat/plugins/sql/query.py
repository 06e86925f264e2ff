"""Answers a question with SQL: a model writes the statement, and corrects it up to twice after a refusal or failure."""

import asyncio
import time
from collections.abc import Mapping

from rightseat.core.errors import BadQuery
from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Plugin, Step
from rightseat.plugins.expressions import prompts, templates
from rightseat.plugins.model_calls import ModelCaller, ModelRequest
from rightseat.plugins.results import StepErrorCode, StepFailed, StepResult, StepUsage
from rightseat.plugins.scope import Scope
from rightseat.plugins.sql import catalog as catalogs
from rightseat.plugins.sql.databases import BoundDatabase, Databases
from rightseat.plugins.sql.dialects import QueryResult
from rightseat.plugins.sql.functions import StatementRefused
from rightseat.plugins.sql.rows import to_objects
from rightseat.text import truncate_with_length

DEFAULT_MAX_ROWS = 500
DEFAULT_TIMEOUT_S = 30.0
MAX_ATTEMPTS = 3
MAX_REFUSED_CHARACTERS = 2_000  # of a refused statement, in the next prompt
MAX_CATALOG_CHARACTERS = 12_000  # in the prompt

SCHEMA: Mapping[str, JsonValue] = {
    "type": "object",
    "properties": {"sql": {"type": "string"}, "explanation": {"type": "string"}},
    "required": ["sql", "explanation"],
    "additionalProperties": False,
}

SYSTEM = """\
You write one {dialect} SELECT statement that answers a question from the tables described below. Use only these \
tables and columns. Do not change anything, and do not guess names or values. Give each column of the result a short \
name that a reader understands. Answer with JSON: {{"sql": "…", "explanation": "one sentence"}}.

{catalog}"""

DIALECT_TITLES = {"sqlite": "SQLite", "postgres": "PostgreSQL", "mysql": "MySQL", "duckdb": "DuckDB"}


async def run_query(plugin: Plugin, step: Step, scope: Scope, model: ModelCaller, databases: Databases) -> StepResult:
    """Return the rows as objects. Raises `StepFailed`: `sql_refused` or `sql_failed`, by the last attempt."""
    started = time.monotonic()
    database = await databases.find(plugin, text_or_none(step.params.get("database")))
    max_rows = positive_or(step.params.get("max_rows"), DEFAULT_MAX_ROWS)
    description, left_out = await asyncio.to_thread(
        catalogs.describe, database.catalog, scope.question, MAX_CATALOG_CHARACTERS
    )
    attempts: list[JsonValue] = []
    usage = StepUsage()
    code: StepErrorCode = "sql_refused"
    reason = ""
    while len(attempts) < MAX_ATTEMPTS:
        request = build_request(step, scope, database, description, attempts)
        response = await model.call(request)
        usage = add_tokens(usage, response.usage)
        sql, explanation = "", ""
        try:
            sql, explanation = read_response(response.value())
            statement = await databases.check(sql, database, max_rows)
            result = await database.dialect.run(
                statement, database.catalog.columns(), step.timeout or DEFAULT_TIMEOUT_S
            )
        except (ValueError, StatementRefused) as error:
            code, reason = "sql_refused", f"The query was refused: {error}"
        except BadQuery as error:
            code, reason = "sql_failed", f"The query failed. {error.message}"
        else:
            milliseconds = round((time.monotonic() - started) * 1000)
            return StepResult(
                output=to_objects(result.columns, result.rows[:max_rows]),
                message=describe_rows(result, max_rows),
                usage=StepUsage(usage.input_tokens, usage.output_tokens, milliseconds),
                record={
                    "database": database.name, "sql": statement, "written": sql, "explanation": explanation,
                    "refused": attempts, "tables_not_shown": [*left_out],
                },
            )  # fmt: skip
        attempts.append({"sql": truncate_with_length(sql or response.text, MAX_REFUSED_CHARACTERS), "reason": reason})
    raise StepFailed(code, reason, details={"database": database.name, "attempts": attempts})


def build_request(
    step: Step, scope: Scope, database: BoundDatabase, description: str, attempts: list[JsonValue]
) -> ModelRequest:
    system = SYSTEM.format(dialect=DIALECT_TITLES[database.dialect.name], catalog=description)
    lines = [f"Today is {prompts.format_time(scope)}.", f"Question: {scope.question}"]
    if context := prompts.format_context(scope):
        lines.insert(1, templates.mark_untrusted(context, "context"))
        system = f"{system}\n\n{templates.UNTRUSTED_NOTICE}"
    lines += [
        f"You wrote: {attempt['sql']}\n{attempt['reason']}\nWrite another statement."
        for attempt in attempts
        if isinstance(attempt, dict)
    ]
    return ModelRequest(step.name or "on_error", system, "\n\n".join(lines), SCHEMA, temperature=0)


def read_response(value: JsonValue) -> tuple[str, str]:
    match value:
        case {"sql": str(sql), "explanation": str(explanation)} if sql.strip():
            return sql, explanation
        case {"sql": str(sql)} if sql.strip():
            return sql, ""
        case _:
            raise ValueError('the answer must be {"sql": "…", "explanation": "…"}.')


def describe_rows(result: QueryResult, max_rows: int) -> str:
    if len(result.rows) > max_rows:
        return f"the first {max_rows} rows; there are more."
    return f"{len(result.rows)} row{'' if len(result.rows) == 1 else 's'}"


def text_or_none(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def positive_or(value: JsonValue, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default


def add_tokens(one: StepUsage, other: StepUsage) -> StepUsage:
    return StepUsage(one.input_tokens + other.input_tokens, one.output_tokens + other.output_tokens)
