"""Tools with which the model adds tables, charts, HTML and text documents to its answer.

Arguments are checked strictly: the model gets an error that states the fix, and nothing reaches the client. Rows may be
given, or selected with SQL or a source label, so that the model need not repeat data. Workspace looks artifacts up by
name, so names are made unique in a chat.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from rightseat.core.errors import BadRequest, UnreadableFile
from rightseat.core.events import Custom
from rightseat.core.tools import Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.data import sanitizer
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools import charts
from rightseat.faces.openbb.tools.data import show_sql
from rightseat.faces.openbb.tools.functions import schema
from rightseat.faces.openbb.tools.rows import Row, query_rows, read_rows, rows_of_source

MAX_TEXT_CHARS = 100_000
MAX_NAME_CHARS = 100
MAX_TEXT_ROWS = 100
"""Rows of a table written as Markdown."""


class ArtifactKind(NamedTuple):
    """A tool that makes one kind of artifact."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    create: Callable[[Session, Invocation], Awaitable[str]]


def tools(session: Session) -> Sequence[Tool]:
    """Clients of 2024 show no artifacts: they get tables as Markdown."""
    kinds = (TABLE,) if session.is_legacy else (TABLE, CHART, HTML, TEXT)
    return [
        Tool(kind.name, kind.description, kind.parameters, partial(create, kind, session), approval="exempt")
        for kind in kinds
    ]


async def create(kind: ArtifactKind, session: Session, invocation: Invocation) -> str:
    known = kind.parameters["properties"]
    if isinstance(known, dict) and (unknown := sorted(invocation.arguments.keys() - known.keys())):
        raise BadRequest(f"There is no argument {', '.join(unknown)}. There are: {', '.join(known)}.")
    return await kind.create(session, invocation)


async def create_table(session: Session, invocation: Invocation) -> str:
    rows, notes = await collect_rows(session, invocation)
    return emit(session, invocation, "table", rows, notes)


async def create_chart(session: Session, invocation: Invocation) -> str:
    kind = charts.read_type(invocation.arguments)
    rows, notes = await collect_rows(session, invocation)
    parameters, unused = charts.read_parameters(kind, invocation.arguments, rows)
    return emit(session, invocation, "chart", rows, notes + unused, chart_params=parameters)


async def create_html(session: Session, invocation: Invocation) -> str:
    html = invocation.arguments.get("content")
    if not isinstance(html, str) or not html.strip():
        raise BadRequest("content must be a text with HTML.")
    try:
        cleaned = await sanitizer.sanitize(html)
    except UnreadableFile as error:
        raise BadRequest(error.message) from None
    notes = [f"Removed from it: {', '.join(cleaned.removed)}. {sanitizer.ALLOWED}"] if cleaned.removed else []
    return emit(session, invocation, "html", cleaned.html, notes)


async def create_text(session: Session, invocation: Invocation) -> str:
    text = invocation.arguments.get("content")
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT_CHARS:
        raise BadRequest(f"content must be a text, of Markdown, with at most {MAX_TEXT_CHARS:,} characters.")
    return emit(session, invocation, "text", text, [])


async def collect_rows(session: Session, invocation: Invocation) -> tuple[list[Row], list[str]]:
    data, sql, source = (invocation.arguments.get(key) for key in ("data", "sql", "source"))
    if sum(map(bool, (data, sql, source))) > 1:
        raise BadRequest("Give one of data, sql and source, and leave the others out.")
    if source:
        return rows_of_source(source, session.sources), []
    if isinstance(sql, str) and sql:
        show_sql(invocation, sql)
        return await query_rows(session.files.tables, sql)
    if sql:
        raise BadRequest("sql must be a text.")
    return read_rows(data), []


def emit(
    session: Session,
    invocation: Invocation,
    kind: str,
    content: str | list[Row],
    notes: Sequence[str],
    **more: JsonValue,
) -> str:
    """Show the artifact, and return its name and any deviations to the model."""
    requested_name = read_text(invocation.arguments, "name", MAX_NAME_CHARS) or kind.capitalize()
    name = session.unique_name(escape_markers(requested_name))
    description = read_text(invocation.arguments, "description", 1000) or f"A {kind} made for this answer."
    artifact: dict[str, Any] = {
        "type": kind,
        "name": name,
        "description": description,
        "uuid": str(uuid4()),
        "content": content,
        **more,
    }
    invocation.emit(Custom("openbb.artifact", artifact))
    messages = [f"Shown to the user as {name!r}."]
    if name != requested_name:
        messages.append(f"The name {requested_name!r} could not be used in this chat.")
    if isinstance(content, list):
        messages.append(f"It has {len(content)} rows.")
    return " ".join([*messages, *notes])


def read_text(arguments: Mapping[str, JsonValue], key: str, max_chars: int) -> str:
    text = arguments.get(key)
    if text is None:
        return ""
    if not isinstance(text, str) or len(text) > max_chars:
        raise BadRequest(f"{key} must be a text of at most {max_chars} characters.")
    return text.strip()


def escape_markers(name: str) -> str:
    """Escape a name for use inside the client's markers."""
    return " ".join(name.replace("<|", "< |").replace("|>", "| >").split())


def to_markdown(artifact: Mapping[str, Any]) -> str:
    """A table as Markdown, for clients without artifacts."""
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found := artifact["content"], list) else []
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[cell(row.get(column)) for column in columns] for row in rows[:MAX_TEXT_ROWS]]
    table = "\n".join("| " + " | ".join(line) + " |" for line in [list(map(cell, columns)), *lines[1:]])
    more = f"\n\n{len(rows) - MAX_TEXT_ROWS} more rows are not shown." if len(rows) > MAX_TEXT_ROWS else ""
    return f"\n\n**{artifact['name']}**\n\n{table}{more}\n\n"


def cell(value: Any) -> str:
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").split())


NAME: JsonValue = {"type": "string", "description": "A short title, shown above it."}
DESCRIPTION: JsonValue = {"type": "string", "description": "One sentence about what it shows."}
NAMES: dict[str, JsonValue] = {"name": NAME, "description": DESCRIPTION}
ROWS: dict[str, JsonValue] = {
    "data": {
        "type": "array",
        "items": {"type": "object"},
        "description": "The rows: objects of column names and values. Only for rows that you made yourself.",
    },
    "source": {
        "type": "string",
        "description": "Instead of `data`: the label of a source whose rows you were shown, such as S1.",
    },
    "sql": {
        "type": "string",
        "description": "Instead of `data`: the name of a table of this conversation, or a query over such tables.",
    },
}
CONTENT: dict[str, JsonValue] = {"content": {"type": "string"}}

TABLE = ArtifactKind(
    "create_table",
    "Show a table in your answer. Prefer it to a Markdown table when there are more than a few rows.",
    schema(NAMES | ROWS, ("name",)),
    create_table,
)
CHART = ArtifactKind(
    "create_chart",
    "Draw a chart in your answer. line, bar and scatter need x_key and y_keys; pie and donut need angle_key and "
    "callout_label_key. Every key is the name of a column of the rows.",
    schema({"type": charts.TYPE_SCHEMA} | NAMES | ROWS | charts.COLUMN_ARGUMENTS, ("type", "name")),
    create_chart,
)
HTML = ArtifactKind(
    "create_html",
    "Show a piece of HTML in your answer: a card, a layout. One self-contained fragment with inline styles or SVG; "
    "no scripts, no <style>, no forms, and nothing that is fetched from elsewhere.",
    schema(NAMES | CONTENT, ("name", "content")),
    create_html,
)
TEXT = ArtifactKind(
    "create_text",
    "Give the user a longer text, such as a report, as a document of its own beside your answer.",
    schema(NAMES | CONTENT, ("name", "content")),
    create_text,
)
