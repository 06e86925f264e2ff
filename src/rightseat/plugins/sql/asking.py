"""A question → SQL → rows. What is refused, or fails, goes back to the model that wrote it, at most twice."""

import asyncio
import time
from collections.abc import Mapping

from rightseat.core.errors import BadQuery
from rightseat.core.text import truncate_with_length
from rightseat.core.values import JsonValue
from rightseat.plugins import prompting, templates
from rightseat.plugins.definition import Plugin, Step
from rightseat.plugins.results import Code, Result, StepFailed, Usage
from rightseat.plugins.scene import Scene
from rightseat.plugins.speaking import Speaker, Wanted
from rightseat.plugins.sql import catalog as catalogs
from rightseat.plugins.sql.allowed import Refused
from rightseat.plugins.sql.databases import Databases, Source
from rightseat.plugins.sql.engines import Answer
from rightseat.plugins.sql.rows import objects

ROWS = 500
SECONDS = 30.0
ATTEMPTS = 3
SHOWN = 2_000  # characters of a statement that was refused, for the next attempt
CATALOG = 12_000  # characters of a catalog that a model is shown

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

NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL", "mysql": "MySQL", "duckdb": "DuckDB"}


async def query(plugin: Plugin, step: Step, scene: Scene, speaker: Speaker, databases: Databases) -> Result:
    """The rows as objects. Raises `StepFailed`: `sql_refused` or `sql_failed`, as the last attempt ended."""
    started = time.monotonic()
    source = await databases.find(plugin, text(step.params.get("database")))
    rows = whole(step.params.get("max_rows"), ROWS)
    told, left_out = await asyncio.to_thread(catalogs.describe, source.catalog, scene.question, CATALOG)
    attempts: list[JsonValue] = []
    usage = Usage()
    code: Code = "sql_refused"
    reason = ""
    while len(attempts) < ATTEMPTS:
        wanted = write(step, scene, source, told, attempts)
        said = await speaker.say(wanted)
        usage = add(usage, said.usage)
        sql, explanation = "", ""
        try:
            sql, explanation = read(said.value())
            statement = await databases.check(sql, source, rows)
            answer = await source.engine.run(statement, source.catalog.columns(), step.timeout or SECONDS)
        except (ValueError, Refused) as error:
            code, reason = "sql_refused", f"The query was refused: {error}"
        except BadQuery as error:
            code, reason = "sql_failed", f"The query failed. {error.message}"
        else:
            milliseconds = round((time.monotonic() - started) * 1000)
            return Result(
                output=objects(answer.columns, answer.rows[:rows]),
                message=count(answer, rows),
                usage=Usage(usage.input_tokens, usage.output_tokens, milliseconds),
                record={
                    "database": source.name, "sql": statement, "written": sql, "explanation": explanation,
                    "refused": attempts, "tables_not_shown": [*left_out],
                },
            )  # fmt: skip
        attempts.append({"sql": truncate_with_length(sql or said.text, SHOWN), "reason": reason})
    raise StepFailed(code, reason, details={"database": source.name, "attempts": attempts})


def write(step: Step, scene: Scene, source: Source, told: str, attempts: list[JsonValue]) -> Wanted:
    system = SYSTEM.format(dialect=NAMES[source.engine.dialect], catalog=told)
    lines = [f"Today is {prompting.told_time(scene)}.", f"Question: {scene.question}"]
    if context := prompting.context(scene):
        lines.insert(1, templates.wrapped(context, "context"))
        system = f"{system}\n\n{templates.UNTRUSTED}"
    lines += [
        f"You wrote: {attempt['sql']}\n{attempt['reason']}\nWrite another statement."
        for attempt in attempts
        if isinstance(attempt, dict)
    ]
    return Wanted(step.name or "on_error", system, "\n\n".join(lines), SCHEMA, temperature=0)


def read(value: JsonValue) -> tuple[str, str]:
    match value:
        case {"sql": str(sql), "explanation": str(explanation)} if sql.strip():
            return sql, explanation
        case {"sql": str(sql)} if sql.strip():
            return sql, ""
        case _:
            raise ValueError('the answer must be {"sql": "…", "explanation": "…"}.')


def count(answer: Answer, rows: int) -> str:
    if len(answer.rows) > rows:
        return f"{rows} rows, cut at {rows}: there are more."
    return f"{len(answer.rows)} row{'' if len(answer.rows) == 1 else 's'}"


def text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def whole(value: JsonValue, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise


def add(one: Usage, other: Usage) -> Usage:
    return Usage(one.input_tokens + other.input_tokens, one.output_tokens + other.output_tokens)
