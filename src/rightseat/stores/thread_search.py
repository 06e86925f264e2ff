"""Searches threads by words in their names and messages, the most recently used first.

Threads are examined in batches, and the clock is read between them. A trigram index would not find words of two
characters, which most Chinese words are; reading the text of 10,000 threads takes about 40 ms.
"""

import time
from typing import Any

from sqlalchemy import ColumnElement, Connection, exists, or_, select

from rightseat.core.threads import ThreadCursor, read_cursor
from rightseat.operations.records import Page, ThreadQuery, ThreadRow
from rightseat.stores.record_queries import (
    THREADS,
    cursor_of,
    is_older,
    read_threads,
    thread_conditions,
)
from rightseat.stores.tables import message_texts, threads
from rightseat.stores.thread_queries import NEWEST_FIRST
from rightseat.text import fold_text

SEARCH_TIMEOUT_S = 2.0
BATCH_THREADS = 2000


def search_threads(connection: Connection, query: ThreadQuery, timeout: float = SEARCH_TIMEOUT_S) -> Page[ThreadRow]:
    """If the time is over, the page ends with the batch, and its `next` continues the search there."""
    until = time.monotonic() + timeout
    wanted = list(thread_conditions(query))
    matching = THREADS.where(*wanted, has_words(query.words or "")).order_by(*NEWEST_FIRST)
    after = None if query.after is None else read_cursor(query.after)
    found: list[Any] = []
    while True:
        batch = [] if after is None else [is_older(after)]
        after = find_batch_end(connection, [*wanted, *batch])
        if after is not None:
            batch.append(~is_older(after))
        found += connection.execute(matching.where(*batch).limit(query.limit + 1 - len(found))).all()
        if len(found) > query.limit:
            found = found[: query.limit]
            return Page(read_threads(connection, found), str(cursor_of(found[-1])))
        if after is None:
            total = len(found) if query.after is None else None
            return Page(read_threads(connection, found), None, total)
        if time.monotonic() > until:
            return Page(read_threads(connection, found), str(after))


def has_words(words: str) -> ColumnElement[bool]:
    text = message_texts.c.text.contains(fold_text(words), autoescape=True)
    return or_(
        threads.c.name.icontains(words.replace("\0", ""), autoescape=True),
        exists().where(message_texts.c.thread_id == threads.c.id, text),
    )


def find_batch_end(connection: Connection, wanted: list[ColumnElement[bool]]) -> ThreadCursor | None:
    """The last thread of the next batch; None if all that are left fit into it."""
    statement = select(threads.c.updated_at, threads.c.id).where(*wanted).order_by(*NEWEST_FIRST)
    found = connection.execute(statement.limit(1).offset(BATCH_THREADS - 1)).first()
    return None if found is None else cursor_of(found)
