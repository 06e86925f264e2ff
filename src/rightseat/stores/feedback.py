"""Stores feedback in a SQL database."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, case, delete, func, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from rightseat.core.ids import new_id
from rightseat.core.types import JsonValue
from rightseat.operations.feedback import (
    MAX_UNSTORED_ROWS,
    AnswerNotFound,
    Bucket,
    FeedbackCount,
    FeedbackQuery,
    FeedbackRow,
    JudgedAnswer,
    Judgement,
    Vote,
    find_main_model,
    read_feedback_cursor,
)
from rightseat.operations.recent_answers import RecentAnswers
from rightseat.operations.records import Page
from rightseat.stores import rows
from rightseat.stores.run_columns import read_models
from rightseat.stores.store_database import StoreDatabase
from rightseat.stores.struct_rows import StructRows
from rightseat.stores.tables import feedback, messages, runs
from rightseat.stores.visible_rows import visible_rows

logger = logging.getLogger(__name__)

OVERFULL = "%s has more than %d votes on answers that are not stored: the oldest %d were deleted"

VOTE_VALUES: dict[str, int] = {"up": 1, "down": -1}
BUCKET_CHARS: dict[Bucket, int] = {"hour": len("2026-11-19T10"), "day": len("2026-11-19")}
BUCKET_END: dict[Bucket, str] = {"hour": ":00:00Z", "day": "T00:00:00Z"}


def read_vote(value: int) -> Vote:
    return "up" if value > 0 else "down"


FEEDBACK_ROWS = StructRows(
    FeedbackRow,
    {
        "id": feedback.c.id,
        "owner": feedback.c.owner,
        "run": feedback.c.run_id,
        "thread": feedback.c.thread_id,
        "message": feedback.c.message_id,
        "agent": feedback.c.agent,
        "model": feedback.c.model,
        "through": feedback.c.face,
        "value": feedback.c.value,
        "comment": feedback.c.comment,
        "tags": feedback.c.tags,
        "trace_id": feedback.c.trace_id,
        "question": feedback.c.question,
        "text": feedback.c.answer_text,
        "created_at": feedback.c.created_at,
        "updated_at": feedback.c.updated_at,
    },
    {"value": read_vote, "tags": msgspec.json.Decoder(tuple[str, ...]).decode},
)
ORDER = (feedback.c.created_at, feedback.c.id)
NEWEST_FIRST = tuple(column.desc() for column in ORDER)
ANSWERS = select(runs.c.id, runs.c.thread_id, runs.c.agent, runs.c.model_usage)
UNCHANGED = ("id", "owner", "answer_key", "created_at")
"""Columns of the first vote."""
KNOWN_BEFORE = ("run_id", "thread_id", "message_id", "agent", "model")
"""Columns in which a later vote without a value leaves that of the earlier one."""


class SqlFeedback:
    """`recent` has the answers of transient runs of this process."""

    def __init__(self, database: StoreDatabase) -> None:
        self._database = database
        self.recent = RecentAnswers()

    async def find_answer(self, id: str, owner: str) -> JudgedAnswer | None:
        if "\0" in id:
            return None
        return self.recent.find(id, owner) or await self._database.read(find_answer, id, owner)

    async def find_quoted(self, trace_id: str, text: str, owner: str) -> JudgedAnswer | None:
        return self.recent.find_quoted(trace_id, text, owner)

    async def give(self, answer: JudgedAnswer, judgement: Judgement, through: str) -> FeedbackRow:
        try:
            return await self._database.write(give, answer, judgement, through, self._database.dialect)
        except IntegrityError:
            raise AnswerNotFound(answer.message or answer.key) from None

    async def withdraw(self, answer: JudgedAnswer) -> bool:
        is_deleted = await self._database.write(withdraw, answer)
        if is_deleted:
            self._database.erase()
        return is_deleted

    async def list(self, query: FeedbackQuery) -> Page[FeedbackRow]:
        return await self._database.scan(list_feedback, query)

    async def count(self, query: FeedbackQuery, bucket: Bucket) -> Sequence[FeedbackCount]:
        return await self._database.scan(count_feedback, query, bucket)

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await self._database.scan(read_user, user)

    async def forget_user(self, user: str) -> int:
        deleted = await self._database.write(forget_user, user)
        self._database.erase()
        return deleted


def find_answer(connection: Connection, id: str, owner: str) -> JudgedAnswer | None:
    by_run = ANSWERS.where(runs.c.id == id, runs.c.owner == owner)
    if (found := connection.execute(by_run).first()) is not None:
        return describe_answer(found, owner)
    by_message = ANSWERS.join(messages, messages.c.run_id == runs.c.id).where(
        messages.c.id == id, messages.c.run_id.is_not(None), runs.c.owner == owner
    )
    found = connection.execute(by_message.limit(1)).first()
    return describe_answer(found, owner, id) if found is not None else None


def describe_answer(row: Any, owner: str, message: str | None = None) -> JudgedAnswer:
    return JudgedAnswer(
        key=row.id,
        owner=owner,
        run=row.id,
        thread=row.thread_id,
        message=message,
        agent=row.agent,
        model=find_main_model(read_models(row.model_usage)),
    )


def give(connection: Connection, answer: JudgedAnswer, judgement: Judgement, through: str, dialect: str) -> FeedbackRow:
    row = write_row(answer, judgement, through)
    new = (postgresql if dialect == "postgresql" else sqlite).insert(feedback).values(row)
    changed = {name: new.excluded[name] for name in row if name not in UNCHANGED}
    changed |= {name: func.coalesce(new.excluded[name], feedback.c[name]) for name in KNOWN_BEFORE}
    statement = new.on_conflict_do_update(index_elements=[feedback.c.owner, feedback.c.answer_key], set_=changed)
    stored = connection.execute(statement.returning(*FEEDBACK_ROWS.columns)).one()
    if answer.thread is None and (deleted := delete_oldest_unstored(connection, answer.owner)):
        logger.warning(OVERFULL, answer.owner, MAX_UNSTORED_ROWS, deleted)
    return FEEDBACK_ROWS.read(stored)


def write_row(answer: JudgedAnswer, judgement: Judgement, through: str) -> dict[str, Any]:
    now = rows.now()
    return {
        "id": new_id("feedback"),
        "owner": answer.owner,
        "answer_key": answer.key,
        "run_id": answer.run,
        "thread_id": answer.thread,
        "message_id": answer.message,
        "agent": answer.agent,
        "model": answer.model,
        "face": through,
        "value": VOTE_VALUES[judgement.vote],
        "comment": judgement.comment,
        "tags": msgspec.json.encode(judgement.tags).decode(),
        "trace_id": answer.trace_id,
        "question": answer.question,
        "answer_text": answer.text,
        "created_at": now,
        "updated_at": now,
    }


def delete_oldest_unstored(connection: Connection, owner: str) -> int:
    unstored = (feedback.c.owner == owner, feedback.c.thread_id.is_(None))
    newest = select(feedback.c.id).where(*unstored).order_by(feedback.c.updated_at.desc(), feedback.c.id.desc())
    oldest = newest.limit(100).offset(MAX_UNSTORED_ROWS)
    return connection.execute(delete(feedback).where(feedback.c.id.in_(oldest))).rowcount


def withdraw(connection: Connection, answer: JudgedAnswer) -> bool:
    own = (feedback.c.owner == answer.owner, feedback.c.answer_key == answer.key)
    return bool(connection.execute(delete(feedback).where(*own)).rowcount)


def list_feedback(connection: Connection, query: FeedbackQuery) -> Page[FeedbackRow]:
    statement = select(*FEEDBACK_ROWS.columns).where(*feedback_conditions(query))
    statement = statement.order_by(*(ORDER if query.is_oldest_first else NEWEST_FIRST))
    if query.after is not None:
        row, last = tuple_(*ORDER), tuple_(*read_feedback_cursor(query.after))
        statement = statement.where(row > last if query.is_oldest_first else row < last)
    found = [FEEDBACK_ROWS.read(row) for row in connection.execute(statement.limit(query.limit + 1))]
    page = found[: query.limit]
    return Page(page, f"{page[-1].created_at}/{page[-1].id}" if len(found) > len(page) else None)


def count_feedback(connection: Connection, query: FeedbackQuery, bucket: Bucket) -> Sequence[FeedbackCount]:
    start = func.substr(feedback.c.created_at, 1, BUCKET_CHARS[bucket])
    up = func.sum(case((feedback.c.value > 0, 1), else_=0))
    groups = (start, feedback.c.agent, feedback.c.model)
    statement = select(*groups, up, func.count()).where(*feedback_conditions(query)).group_by(*groups).order_by(start)
    return [
        FeedbackCount(begin + BUCKET_END[bucket], agent, model, int(ups), total - int(ups))
        for begin, agent, model, ups, total in connection.execute(statement)
    ]


def feedback_conditions(query: FeedbackQuery) -> Iterator[ColumnElement[bool]]:
    wanted = {
        feedback.c.owner: query.owner,
        feedback.c.thread_id: query.thread,
        feedback.c.run_id: query.run,
        feedback.c.agent: query.agent,
        feedback.c.model: query.model,
        feedback.c.face: query.through,
        feedback.c.value: VOTE_VALUES[query.value] if query.value else None,
    }
    yield from (column == value for column, value in wanted.items() if value is not None)
    if query.since is not None:
        yield feedback.c.created_at >= query.since
    if query.tag is not None:
        yield has_tag(query.tag)
    yield from visible_rows(query.reader, feedback.c.owner, feedback.c.agent)


def has_tag(tag: str) -> ColumnElement[bool]:
    """Unlike LIKE, `replace` minds the case in both databases. A quotation mark within a tag is escaped."""
    return func.replace(feedback.c.tags, msgspec.json.encode(tag).decode(), "") != feedback.c.tags


def read_user(connection: Connection, user: str) -> Sequence[JsonValue]:
    statement = select(*FEEDBACK_ROWS.columns).where(feedback.c.owner == user).order_by(feedback.c.created_at)
    return [msgspec.to_builtins(FEEDBACK_ROWS.read(row)) for row in connection.execute(statement)]


def forget_user(connection: Connection, user: str) -> int:
    return connection.execute(delete(feedback).where(feedback.c.owner == user)).rowcount


def expire(connection: Connection, before: str, limit: int) -> int:
    """Delete votes on answers that are stored nowhere, if they were last changed before. Returns how many."""
    old = select(feedback.c.id).where(feedback.c.thread_id.is_(None), feedback.c.updated_at < before).limit(limit)
    return connection.execute(delete(feedback).where(feedback.c.id.in_(old))).rowcount
