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
from rightseat.stores.feedback import VOTE_VALUES, read_vote
from rightseat.stores.run_columns import RUN_COLUMNS, read_models
from rightseat.stores.struct_rows import StructRows
from rightseat.stores.tables import feedback, files, interrupts, message_texts, messages, runs, threads
from rightseat.stores.thread_queries import NEWEST_FIRST, NOW, USE_ORDER, read_pending
from rightseat.stores.visible_rows import is_agent, visible_rows

MAX_NUMBER_DIGITS = 18  # fits the integers of both databases
VISITED_ROWS = 200  # read at once

OF_THREAD = runs.c.thread_id == threads.c.id
LAST_OUTCOME = select(runs.c.outcome).where(OF_THREAD).order_by(runs.c.number.desc()).limit(1).scalar_subquery()
IS_RUNNING = threads.c.active_run_id.is_not(None)


def sum_of_runs(value: ColumnElement[Any]) -> ColumnElement[Any]:
    return select(func.sum(value)).where(OF_THREAD).scalar_subquery()


def round_sum(value: Decimal | float | None) -> int | None:
    """PostgreSQL returns sums as decimals."""
    return None if value is None else round(value)


THREAD_ROWS = StructRows(
    ThreadRow,
    {
        "id": threads.c.id,
        "title": threads.c.name,
        "user": threads.c.owner,
        "agent": threads.c.agent,
        "archived": threads.c.archived,
        "created_at": threads.c.created_at,
        "updated_at": threads.c.updated_at,
        "runs": select(func.count()).where(OF_THREAD).scalar_subquery(),
        "active_run": threads.c.active_run_id,
        "state": case((IS_RUNNING, "running"), else_=LAST_OUTCOME),
        "input_tokens": sum_of_runs(runs.c.input_tokens),
        "output_tokens": sum_of_runs(runs.c.output_tokens),
        "milliseconds": sum_of_runs(MillisecondsBetween(runs.c.created_at, runs.c.finished_at)),
        "cache_read_tokens": sum_of_runs(runs.c.cache_read_tokens),
        "has_other_agents": exists().where(OF_THREAD, runs.c.agent != threads.c.agent),
    },
    dict.fromkeys(("input_tokens", "output_tokens", "milliseconds", "cache_read_tokens"), round_sum),
)
THREADS = select(*THREAD_ROWS.columns)
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
FILE_ROWS = StructRows(
    FileRow,
    {"id": files.c.id, "name": files.c.name, "media_type": files.c.media_type, "created_at": files.c.created_at},
)
FILES = (
    select(*FILE_ROWS.columns)
    .where(files.c.thread_id == bindparam("of_thread"), files.c.media_type != PRIVATE_MEDIA_TYPE)
    .order_by(files.c.created_at, files.c.id)
)
HAS_QUESTIONS = exists().where(interrupts.c.thread_id == runs.c.thread_id, interrupts.c.run_id == runs.c.id)


IS_OPEN = interrupts.c.answered_at.is_(None) & or_(interrupts.c.expires_at.is_(None), interrupts.c.expires_at > NOW)
VISITED_RUN_ROWS = StructRows(RunRecord, RUN_COLUMNS, {"models": read_models})
VISITED_RUNS = select(*VISITED_RUN_ROWS.columns)
VOTE = select(feedback.c.value).where(feedback.c.run_id == runs.c.id, feedback.c.owner == runs.c.owner)
RUN_ROWS = StructRows(
    RunRecord,
    {
        **RUN_COLUMNS,
        "has_questions": HAS_QUESTIONS,
        "is_waiting": HAS_QUESTIONS.where(IS_OPEN),
        "feedback": VOTE.scalar_subquery(),
    },
    {"models": read_models, "feedback": lambda value: value and read_vote(value)},
)
ASKING = runs.alias("asking")
ANSWERING = runs.alias("answering")
ANSWERED_IN = select(ANSWERING.c.id).where(
    ANSWERING.c.thread_id == interrupts.c.thread_id,
    ANSWERING.c.outcome.is_(None),
    ANSWERING.c.asked_at >= ASKING.c.finished_at,
)
QUESTIONS = (
    select(
        interrupts,
        ASKING.c.finished_at.label("asked_at"),
        ANSWERED_IN.limit(1).scalar_subquery().label("answered_in"),
    )
    .outerjoin(ASKING, ASKING.c.id == interrupts.c.run_id)
    .where(IS_OPEN)
    .order_by(interrupts.c.created_at, interrupts.c.position)
)


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
        yield (
            IS_RUNNING
            if query.state == "running"
            else and_(~IS_RUNNING, LAST_OUTCOME.is_not_distinct_from(query.state))
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
        yield is_agent(threads.c.agent, agents)
        yield ~exists().where(OF_THREAD, ~is_agent(runs.c.agent, agents))


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
    return [msgspec.structs.replace(THREAD_ROWS.read(row), last_text=texts.get(row.id)) for row in found]


def begin_text(message: str | None, beginning: str | None) -> str | None:
    """Of a long message the text for the search, which is folded: 8 MB would take 80 ms to read."""
    if message is None:
        return " ".join((beginning or "").split()) or None
    return rows.begin_text(msgspec.json.decode(message, type=Message))


def list_runs(connection: Connection, query: RunQuery) -> Page[RunRecord]:
    statement = select(*RUN_ROWS.columns, runs.c.number).where(*run_conditions(query)).order_by(runs.c.number.desc())
    if query.after is not None:
        if not (query.after.isascii() and query.after.isdecimal() and len(query.after) <= MAX_NUMBER_DIGITS):
            raise BadRequest(f"{query.after!r} is not the cursor of a page of runs.")
        statement = statement.where(runs.c.number < int(query.after))
    found, is_last = _read_page(connection, statement, query.limit)
    return Page([RUN_ROWS.read(row) for row in found], None if is_last else str(found[-1].number))


def visit_runs(connection: Connection, query: RunQuery, visit: Callable[[RunRecord], object]) -> bool:
    """Rows are read in parts, so that memory does not grow with their number."""
    statement = VISITED_RUNS.where(*run_conditions(query)).order_by(runs.c.number.desc()).limit(query.limit + 1)
    for index, row in enumerate(connection.execute(statement.execution_options(yield_per=VISITED_ROWS))):
        if index == query.limit:
            return False
        visit(VISITED_RUN_ROWS.read(row))
    return True


def run_conditions(query: RunQuery) -> Iterator[ColumnElement[bool]]:
    yield from _equal(
        (runs.c.thread_id, query.thread),
        (runs.c.agent, query.agent),
        (runs.c.owner, query.user),
        (runs.c.flow, query.flow),
        (runs.c.error_code, query.code),
    )
    if query.feedback is not None:
        voted = select(feedback.c.run_id).where(feedback.c.value == VOTE_VALUES[query.feedback])
        yield runs.c.id.in_(voted)
    if query.since is not None:
        yield runs.c.created_at >= query.since
    if query.outcome is not None:
        yield runs.c.outcome.is_(None) if query.outcome == "running" else runs.c.outcome == query.outcome
    yield from visible_rows(query.reader, runs.c.owner, runs.c.agent)


def find_thread(connection: Connection, id: str) -> ThreadRow | None:
    found = connection.execute(THREADS.where(threads.c.id == id)).first()
    return None if found is None else THREAD_ROWS.read(found)


def find_run(connection: Connection, id: str) -> RunRecord | None:
    found = connection.execute(select(*RUN_ROWS.columns).where(runs.c.id == id), {"now": rows.now()}).first()
    return None if found is None else RUN_ROWS.read(found)


def list_files(connection: Connection, thread_id: str) -> list[FileRow]:
    return [FILE_ROWS.read(row) for row in connection.execute(FILES, {"of_thread": thread_id})]


def find_file_owner(connection: Connection, id: str) -> str | None:
    return connection.execute(select(files.c.owner).where(files.c.id == id)).scalar()


def list_questions(connection: Connection, user: str | None) -> list[Question]:
    wanted = QUESTIONS if user is None else QUESTIONS.where(interrupts.c.owner == user)
    found = connection.execute(wanted, {"now": rows.now()})
    return [Question(row.owner, read_pending(row), row.asked_at, row.answered_in) for row in found]


def _equal(*wanted: tuple[ColumnElement[Any], str | bool | None]) -> Iterator[ColumnElement[bool]]:
    return (column == value for column, value in wanted if value is not None)


def _read_page(connection: Connection, statement: Select[Any], limit: int) -> tuple[Any, bool]:
    """The rows of the page, and whether it is the last: one row more than the page has is read."""
    found = connection.execute(statement.limit(limit + 1), {"now": rows.now()}).all()
    return found[:limit], len(found) <= limit
