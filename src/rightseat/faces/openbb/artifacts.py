"""Tables, charts and cards that the model puts into its answer.

Its arguments are checked here, hard: what Workspace cannot draw comes back to the model as an error that says what
would be right, and nothing of it reaches the client. Rows may be given, or asked for in SQL, so that the model need not
repeat what a widget has said already. Workspace finds an artifact by its name, so names are made unique in a chat.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

from rightseat.core.errors import BadAsk, Unreadable
from rightseat.core.events import Custom
from rightseat.core.tools import Invocation, Tool
from rightseat.core.values import JsonValue
from rightseat.data import sanitizer
from rightseat.faces.openbb import charts
from rightseat.faces.openbb.functions import schema
from rightseat.faces.openbb.markers import artifact_names as names_in
from rightseat.faces.openbb.reading_tools import show_sql
from rightseat.faces.openbb.rows import Row, asked, given, shown
from rightseat.faces.openbb.session import Session

__all__ = ["markdown", "names_in", "tools"]

LONGEST_TEXT = 100_000
LONGEST_NAME = 100
MOST_IN_TEXT = 100
"""Rows of a table that is written as text."""


class Kind(NamedTuple):
    """A tool that makes one kind of artifact."""

    name: str
    description: str
    parameters: dict[str, JsonValue]
    create: Callable[[Session, Invocation], Awaitable[str]]


def tools(session: Session) -> Sequence[Tool]:
    """A client of 2024 draws no artifacts: it gets tables, as text."""
    kinds = (TABLE,) if session.legacy else (TABLE, CHART, HTML, TEXT)
    return [
        Tool(kind.name, kind.description, kind.parameters, partial(create, kind, session), approval="exempt")
        for kind in kinds
    ]


async def create(kind: Kind, session: Session, invocation: Invocation) -> str:
    known = kind.parameters["properties"]
    if isinstance(known, dict) and (unknown := sorted(invocation.arguments.keys() - known.keys())):
        raise BadAsk(f"There is no argument {', '.join(unknown)}. There are: {', '.join(known)}.")
    return await kind.create(session, invocation)


async def create_table(session: Session, invocation: Invocation) -> str:
    rows, notes = await read_rows(session, invocation)
    return emit(session, invocation, "table", rows, notes)


async def create_chart(session: Session, invocation: Invocation) -> str:
    kind = charts.read_type(invocation.arguments)
    rows, notes = await read_rows(session, invocation)
    parameters, unused = charts.read_parameters(kind, invocation.arguments, rows)
    return emit(session, invocation, "chart", rows, notes + unused, chart_params=parameters)


async def create_html(session: Session, invocation: Invocation) -> str:
    html = invocation.arguments.get("content")
    if not isinstance(html, str) or not html.strip():
        raise BadAsk("content must be a text with HTML.")
    try:
        cleaned = await sanitizer.sanitize(html)
    except Unreadable as error:
        raise BadAsk(error.message) from None
    notes = [f"Removed from it: {', '.join(cleaned.removed)}. {sanitizer.ALLOWED}"] if cleaned.removed else []
    return emit(session, invocation, "html", cleaned.html, notes)


async def create_text(session: Session, invocation: Invocation) -> str:
    text = invocation.arguments.get("content")
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEXT:
        raise BadAsk(f"content must be a text, of Markdown, with at most {LONGEST_TEXT:,} characters.")
    return emit(session, invocation, "text", text, [])


async def read_rows(session: Session, invocation: Invocation) -> tuple[list[Row], list[str]]:
    data, sql, source = (invocation.arguments.get(key) for key in ("data", "sql", "source"))
    if sum(map(bool, (data, sql, source))) > 1:
        raise BadAsk("Give one of data, sql and source, and leave the others out.")
    if source:
        return shown(source, session.sources), []
    if isinstance(sql, str) and sql:
        show_sql(invocation, sql)
        return await asked(session.files.tables, sql)
    if sql:
        raise BadAsk("sql must be a text.")
    return given(data), []


def emit(
    session: Session,
    invocation: Invocation,
    kind: str,
    content: str | list[Row],
    notes: Sequence[str],
    **more: JsonValue,
) -> str:
    """Show it, and tell the model so: under which name, and what was not done as it said."""
    wished = read_text(invocation.arguments, "name", LONGEST_NAME) or kind.capitalize()
    name = session.unique(plain(wished))
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
    told = [f"Shown to the user as {name!r}."]
    if name != wished:
        told.append(f"The name {wished!r} could not be used in this chat.")
    if isinstance(content, list):
        told.append(f"It has {len(content)} rows.")
    return " ".join([*told, *notes])


def read_text(arguments: Mapping[str, JsonValue], key: str, longest: int) -> str:
    text = arguments.get(key)
    if text is None:
        return ""
    if not isinstance(text, str) or len(text) > longest:
        raise BadAsk(f"{key} must be a text of at most {longest} characters.")
    return text.strip()


def plain(name: str) -> str:
    """A name that can stand between the client's markers."""
    return " ".join(name.replace("<|", "< |").replace("|>", "| >").split())


def markdown(artifact: Mapping[str, Any]) -> str:
    """A table as text, for a client that shows nothing else."""
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found := artifact["content"], list) else []
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = [columns, ["---"] * len(columns)]
    lines += [[cell(row.get(column)) for column in columns] for row in rows[:MOST_IN_TEXT]]
    table = "\n".join("| " + " | ".join(line) + " |" for line in [list(map(cell, columns)), *lines[1:]])
    more = f"\n\n{len(rows) - MOST_IN_TEXT} more rows are not shown." if len(rows) > MOST_IN_TEXT else ""
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
        "description": "Instead of `data`: the name of a table that you were told of, or a query over such tables.",
    },
}
CONTENT: dict[str, JsonValue] = {"content": {"type": "string"}}

TABLE = Kind(
    "create_table",
    "Show a table in your answer. Prefer it to a Markdown table when there are more than a few rows.",
    schema(NAMES | ROWS, ("name",)),
    create_table,
)
CHART = Kind(
    "create_chart",
    "Draw a chart in your answer. line, bar and scatter need x_key and y_keys; pie and donut need angle_key and "
    "callout_label_key. Every key is the name of a column of the rows.",
    schema({"type": charts.TYPE} | NAMES | ROWS | charts.KEYS, ("type", "name")),
    create_chart,
)
HTML = Kind(
    "create_html",
    "Show a piece of HTML in your answer: a card, a layout. One self-contained fragment with inline styles or SVG; "
    "no scripts, no <style>, no forms, and nothing that is fetched from elsewhere.",
    schema(NAMES | CONTENT, ("name", "content")),
    create_html,
)
TEXT = Kind(
    "create_text",
    "Give the user a longer text, such as a report, as a document of its own beside your answer.",
    schema(NAMES | CONTENT, ("name", "content")),
    create_text,
)
