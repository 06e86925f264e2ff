"""Feedback in this process's memory."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from rightseat.core.ask import includes_agent
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
    find_main_model,
    is_wanted_row,
    read_feedback_cursor,
)
from rightseat.operations.recent_answers import RecentAnswers
from rightseat.operations.records import Page, RecordReader, RunRecord
from rightseat.stores import rows
from rightseat.stores.feedback import BUCKET_CHARS, BUCKET_END, OVERFULL
from rightseat.stores.memory_records import StoredThread

logger = logging.getLogger(__name__)

KNOWN_BEFORE = ("run", "thread", "message", "agent", "model")
"""Fields in which a later vote without a value leaves that of the earlier one."""


class MemoryFeedback:
    """`threads` are those of the store, `recent` the answers of transient runs."""

    def __init__(self, threads: Callable[[], Sequence[StoredThread]]) -> None:
        self._threads = threads
        self._rows: dict[tuple[str, str], FeedbackRow] = {}  # by owner and key of the answer, the last change last
        self.recent = RecentAnswers()

    def find_vote(self, run: RunRecord) -> str | None:
        row = self._rows.get((run.user, run.id))
        return row.value if row else None

    def delete_thread(self, id: str) -> None:
        self._rows = {key: row for key, row in self._rows.items() if row.thread != id}

    async def find_answer(self, id: str, owner: str) -> JudgedAnswer | None:
        if (answer := self.recent.find(id, owner)) is not None:
            return answer
        for thread in self._threads():
            run = thread.records.get(thread.written.get(id, id))
            if run is not None and thread.owner == owner:
                message = id if id in thread.written else None
                model = find_main_model(run.models)
                return JudgedAnswer(
                    key=run.id,
                    owner=owner,
                    run=run.id,
                    thread=run.thread,
                    message=message,
                    agent=run.agent,
                    model=model,
                )
        return None

    async def find_quoted(self, trace_id: str, text: str, owner: str) -> JudgedAnswer | None:
        return self.recent.find_quoted(trace_id, text, owner)

    async def give(self, answer: JudgedAnswer, judgement: Judgement, through: str) -> FeedbackRow:
        if answer.thread is not None and all(thread.summary.id != answer.thread for thread in self._threads()):
            raise AnswerNotFound(answer.message or answer.key)
        key, now = (answer.owner, answer.key), rows.now()
        before = self._rows.pop(key, None)
        known = {field: getattr(answer, field) or getattr(before, field, None) for field in KNOWN_BEFORE}
        row = FeedbackRow(
            **known,
            id=before.id if before else new_id("feedback"),
            owner=answer.owner,
            through=through,
            value=judgement.vote,
            comment=judgement.comment,
            tags=judgement.tags,
            trace_id=answer.trace_id,
            question=answer.question,
            text=answer.text,
            created_at=before.created_at if before else now,
            updated_at=now,
        )
        self._rows[key] = row
        self._delete_oldest_unstored(answer.owner)
        return row

    def _delete_oldest_unstored(self, owner: str) -> None:
        unstored = [key for key, row in self._rows.items() if row.thread is None and row.owner == owner]
        too_many = unstored[: max(0, len(unstored) - MAX_UNSTORED_ROWS)]
        for key in too_many:
            del self._rows[key]
        if too_many:
            logger.warning(OVERFULL, owner, MAX_UNSTORED_ROWS, len(too_many))

    async def withdraw(self, answer: JudgedAnswer) -> bool:
        return self._rows.pop((answer.owner, answer.key), None) is not None

    async def list(self, query: FeedbackQuery) -> Page[FeedbackRow]:
        found = sorted(self._find(query), key=row_key, reverse=not query.is_oldest_first)
        if query.after is not None:
            after = read_feedback_cursor(query.after)
            found = [row for row in found if (row_key(row) > after if query.is_oldest_first else row_key(row) < after)]
        page = found[: query.limit]
        return Page(page, "/".join(row_key(page[-1])) if len(found) > len(page) else None)

    async def count(self, query: FeedbackQuery, bucket: Bucket) -> Sequence[FeedbackCount]:
        chars, end = BUCKET_CHARS[bucket], BUCKET_END[bucket]
        votes = Counter((row.created_at[:chars] + end, row.agent, row.model, row.value) for row in self._find(query))
        groups = sorted({group[:3] for group in votes}, key=lambda group: group[0])
        return [FeedbackCount(*group, up=votes[*group, "up"], down=votes[*group, "down"]) for group in groups]

    def _find(self, query: FeedbackQuery) -> Iterator[FeedbackRow]:
        reader = query.reader
        wanted = (row for row in self._rows.values() if is_wanted_row(row, query))
        return (row for row in wanted if reader is None or is_visible_feedback(row, reader))

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return [msgspec.to_builtins(row) for row in self._rows.values() if row.owner == user]

    async def forget_user(self, user: str) -> int:
        before = len(self._rows)
        self._rows = {key: row for key, row in self._rows.items() if row.owner != user}
        return before - len(self._rows)


def is_visible_feedback(row: FeedbackRow, reader: RecordReader) -> bool:
    is_own = row.owner == reader.user and includes_agent(reader.own, row.agent or "")
    return is_own or includes_agent(reader.others, row.agent or "")


def row_key(row: FeedbackRow) -> tuple[str, str]:
    return row.created_at, row.id
