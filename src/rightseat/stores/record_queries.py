"""Reads threads and runs of all users, for operators. Functions of a connection, like `run_queries`.

Pages begin after the last row of the page before, which an index finds; an OFFSET would read all rows before it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    literal,
    null,
    or_,
    select,
    tuple_,
)

from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE
from rightseat.core.ask import AgentNames
from rightseat.core.errors import BadRequest
from rightseat.core.messages import Message
from rightseat.core.threads import ThreadCursor, read_cursor
from rightseat.core.usage import ModelUsage
from rightseat.operations.records import (
    MAX_TOTAL,
    FileRow,
    Page,
    Question,
    RecordReader,
    RunQuery,
    RunRecord,
    ThreadQuery,
    ThreadRow,
)
from rightseat.stores import rows
from rightseat.stores.durations import MillisecondsBetween
from rightseat.stores.tables import files, interrupts, message_texts, messages, runs, threads
from rightseat.stores.thread_queries import NEWEST_FIRST, USE_ORDER, read_pending

MAX_NUMBER_DIGITS = 18  # fits the integers of both databases
VISITED_ROWS = 200  # read at once

OF_THREAD = runs.c.thread_id == threads.c.id
LAST_OUTCOME = select(runs.c.outcome).where(OF_THREAD).order_by(runs.c.number.desc()).limit(1).scalar_subquery()
THREADS = select(
    threads.c.id,
    threads.c.name,
    threads.c.owner,
    threads.c.agent,
    threads.c.archived,
    threads.c.created_at,
    threads.c.updated_at,
    select(func.count()).where(OF_THREAD).scalar_subquery(),
    threads.c.active_run_id,
    LAST_OUTCOME,
    select(func.sum(runs.c.input_tokens)).where(OF_THREAD).scalar_subquery(),
    select(func.sum(runs.c.output_tokens)).where(OF_THREAD).scalar_subquery(),
    select(func.sum(MillisecondsBetween(runs.c.created_at, runs.c.finished_at))).where(OF_THREAD).scalar_subquery(),
    select(func.sum(runs.c.cache_read_tokens)).where(OF_THREAD).scalar_subquery(),
    exists().where(OF_THREAD, runs.c.agent != threads.c.agent),
)
MAX_PREVIEWED_CHARS = 100_000
earlier = messages.alias("earlier")
LAST_POSITION = select(func.max(earlier.c.position)).where(earlier.c.thread_id == messages.c.thread_id)
IS_LONG = func.length(messages.c.message) > MAX_PREVIEWED_CHARS
TEXT_BEGINNING = select(func.substr(message_texts.c.text, 1, rows.MAX_BEGINNING_CHARS)).where(
    message_texts.c.thread_id == messages.c.thread_id, message_texts.c.position == messages.c.position
)
LAST_MESSAGES = select(
    messages.c.thread_id,
    case((IS_LONG, null()), else_=messages.c.message).label("message"),
    case((IS_LONG, TEXT_BEGINNING.scalar_subquery())).label("beginning"),
).where(
    messages.c.thread_id.in_(bindparam("of_threads", expanding=True)),
    messages.c.position == LAST_POSITION.scalar_subquery(),
)
RUN_COLUMNS = (
    runs.c.id,
    runs.c.thread_id,
    runs.c.owner,
    runs.c.agent,
    runs.c.face,
    runs.c.created_at,
    runs.c.finished_at,
    runs.c.outcome,
    runs.c.error_code,
)
FILES = (
    select(files.c.id, files.c.name, files.c.media_type, files.c.created_at)
    .where(files.c.thread_id == bindparam("of_thread"), files.c.media_type != PRIVATE_MEDIA_TYPE)
    .order_by(files.c.created_at, files.c.id)
)
TOTALS = (
    runs.c.input_tokens,
    runs.c.output_tokens,
    runs.c.cache_read_tokens,
    runs.c.model_calls,
    runs.c.tool_calls,
    runs.c.flow,
    runs.c.asked_at,
    runs.c.model_usage,
)
HAS_QUESTIONS = exists().where(interrupts.c.thread_id == runs.c.thread_id, interrupts.c.run_id == runs.c.id)


def list_threads(connection: Connection, query: ThreadQuery) -> Page[ThreadRow]:
    wanted = list(thread_conditions(query))
    statement = THREADS.where(*wanted).order_by(*NEWEST_FIRST)
    if query.after is not None:
        statement = statement.where(is_older(read_cursor(query.after)))
    found, is_last = _read_page(connection, statement, query.limit)
    total = count_threads(connection, wanted) if query.is_counted else None
    return Page(read_threads(connection, found), None if is_last else str(cursor_of(found[-1])), total)


def thread_conditions(query: ThreadQuery) -> Iterator[ColumnElement[bool]]:
    yield from _equal(
        (threads.c.owner, query.user), (threads.c.agent, query.agent), (threads.c.archived, query.archived)
    )
    if query.since is not None:
        yield threads.c.updated_at >= query.since
    if query.state is not None:
        is_running = threads.c.active_run_id.is_not(None)
        yield (
            is_running
            if query.state == "running"
            else and_(~is_running, LAST_OUTCOME.is_not_distinct_from(query.state))
        )
    if query.reader is not None:
        yield from _visible_threads(query.reader)


def _visible_threads(reader: RecordReader) -> Iterator[ColumnElement[bool]]:
    if reader.others is None:
        return
    own = and_(threads.c.owner == reader.user, *_permitted_threads(reader.own))
    yield or_(own, and_(*_permitted_threads(reader.others))) if reader.others else own


def _permitted_threads(agents: AgentNames) -> Iterator[ColumnElement[bool]]:
    """Threads in which only these agents took part."""
    if agents is not None:
        yield _is_agent(threads.c.agent, agents)
        yield ~exists().where(OF_THREAD, ~_is_agent(runs.c.agent, agents))


def _is_agent(column: ColumnElement[str], agents: Sequence[str]) -> ColumnElement[bool]:
    """As `core.ask.includes_agent`."""
    return or_(false(), column.in_(agents), *(column.startswith(f"{agent}/", autoescape=True) for agent in agents))


def count_threads(connection: Connection, wanted: Iterable[ColumnElement[bool]]) -> int:
    """At most `MAX_TOTAL`."""
    counted = select(literal(1)).select_from(threads).where(*wanted).limit(MAX_TOTAL).subquery()
    total: int = connection.execute(select(func.count()).select_from(counted)).scalar_one()
    return total


def is_older(cursor: ThreadCursor) -> ColumnElement[bool]:
    return tuple_(*USE_ORDER) < tuple_(*cursor)


def cursor_of(row: Any) -> ThreadCursor:
    return ThreadCursor(row.updated_at, row.id)


def read_threads(connection: Connection, found: Sequence[Any]) -> list[ThreadRow]:
    last = connection.execute(LAST_MESSAGES, {"of_threads": [row.id for row in found]}) if found else ()
    texts = {row.thread_id: begin_text(row.message, row.beginning) for row in last}
    return [_read_thread(row, texts.get(row.id)) for row in found]


def _read_thread(row: Any, text: str | None = None) -> ThreadRow:
    *columns, outcome, input_tokens, output_tokens, milliseconds, cached_tokens, has_other_agents = row
    state = "running" if row.active_run_id is not None else outcome
    sums = (round_sum(value) for value in (input_tokens, output_tokens, milliseconds, cached_tokens))
    values = (*columns, state, *sums, has_other_agents, text)
    return ThreadRow(*values)


def round_sum(value: Decimal | float | None) -> int | None:
    """PostgreSQL returns sums as decimals."""
    return None if value is None else round(value)


def begin_text(message: str | None, beginning: str | None) -> str | None:
    """Of a long message the text for the search, which is folded: 8 MB would take 80 ms to read."""
    if message is None:
        return " ".join((beginning or "").split()) or None
    return rows.begin_text(msgspec.json.decode(message, type=Message))


def list_runs(connection: Connection, query: RunQuery) -> Page[RunRecord]:
    statement = _runs().add_columns(runs.c.number).where(*run_conditions(query)).order_by(runs.c.number.desc())
    if query.after is not None:
        if not (query.after.isascii() and query.after.isdecimal() and len(query.after) <= MAX_NUMBER_DIGITS):
            raise BadRequest(f"{query.after!r} is not the cursor of a page of runs.")
        statement = statement.where(runs.c.number < int(query.after))
    found, is_last = _read_page(connection, statement, query.limit)
    return Page([_run_record(row[:-1]) for row in found], None if is_last else str(found[-1].number))


def visit_runs(connection: Connection, query: RunQuery, visit: Callable[[RunRecord], object]) -> bool:
    """Rows are read in parts, so that memory does not grow with their number."""
    columns = (*RUN_COLUMNS, false(), false(), *TOTALS)
    statement = select(*columns).where(*run_conditions(query)).order_by(runs.c.number.desc()).limit(query.limit + 1)
    for index, row in enumerate(connection.execute(statement.execution_options(yield_per=VISITED_ROWS))):
        if index == query.limit:
            return False
        visit(_run_record(row))
    return True


def run_conditions(query: RunQuery) -> Iterator[ColumnElement[bool]]:
    yield from _equal(
        (runs.c.thread_id, query.thread),
        (runs.c.agent, query.agent),
        (runs.c.owner, query.user),
        (runs.c.flow, query.flow),
    )
    if query.since is not None:
        yield runs.c.created_at >= query.since
    if query.outcome is not None:
        yield runs.c.outcome.is_(None) if query.outcome == "running" else runs.c.outcome == query.outcome
    reader = query.reader
    if reader is not None and reader.others is not None:
        own = and_(runs.c.owner == reader.user, *(() if reader.own is None else (_is_agent(runs.c.agent, reader.own),)))
        yield or_(own, _is_agent(runs.c.agent, reader.others)) if reader.others else own


def find_thread(connection: Connection, id: str) -> ThreadRow | None:
    found = connection.execute(THREADS.where(threads.c.id == id)).first()
    return None if found is None else _read_thread(found)


def find_run(connection: Connection, id: str) -> RunRecord | None:
    found = connection.execute(_runs().where(runs.c.id == id)).first()
    return None if found is None else _run_record(found)


def _run_record(row: Sequence[Any]) -> RunRecord:
    models = msgspec.json.decode(row[-1], type=tuple[ModelUsage, ...]) if row[-1] else ()
    return msgspec.structs.replace(RunRecord(*row[:-1]), models=models)


def list_files(connection: Connection, thread_id: str) -> list[FileRow]:
    return [FileRow(*row) for row in connection.execute(FILES, {"of_thread": thread_id})]


def find_file_owner(connection: Connection, id: str) -> str | None:
    return connection.execute(select(files.c.owner).where(files.c.id == id)).scalar()


def list_questions(connection: Connection) -> list[Question]:
    statement = select(interrupts).where(_is_open()).order_by(interrupts.c.created_at, interrupts.c.position)
    return [Question(row.owner, read_pending(row)) for row in connection.execute(statement)]


def _runs() -> Select[Any]:
    return select(*RUN_COLUMNS, HAS_QUESTIONS, HAS_QUESTIONS.where(_is_open()), *TOTALS)


def _is_open() -> ColumnElement[bool]:
    is_current = interrupts.c.expires_at.is_(None) | (interrupts.c.expires_at > rows.now())
    return interrupts.c.answered_at.is_(None) & is_current


def _equal(*wanted: tuple[ColumnElement[Any], str | bool | None]) -> Iterator[ColumnElement[bool]]:
    return (column == value for column, value in wanted if value is not None)


def _read_page(connection: Connection, statement: Select[Any], limit: int) -> tuple[Any, bool]:
    """The rows of the page, and whether it is the last: one row more than the page has is read."""
    found = connection.execute(statement.limit(limit + 1)).all()
    return found[:limit], len(found) <= limit
