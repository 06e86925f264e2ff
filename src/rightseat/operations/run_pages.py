"""Pages of stored and transient runs together, the most recently started first."""

from typing import NamedTuple, Self

import msgspec

from rightseat.core.errors import BadRequest
from rightseat.operations.records import Page, Records, RunQuery, RunRecord
from rightseat.operations.transient_runs import TransientRuns
from rightseat.reads import hold_read

SEPARATOR = "~"
END = "-"  # as the cursor of the store: it has no more rows


class ListedRun(NamedTuple):
    """A transient run is not kept: the server remembers only the last ones."""

    record: RunRecord
    is_kept: bool


class RunCursor(NamedTuple):
    """`stored` is the cursor of the store; None is its beginning. `before` is the start of the last row so far."""

    stored: str | None = None
    before: str | None = None

    @classmethod
    def read(cls, text: str | None) -> Self:
        """Raises `BadRequest`; a cursor of the store itself is checked by the store."""
        if text is None:
            return cls()
        stored, separator, before = text.rpartition(SEPARATOR)
        if not separator or not before:
            raise BadRequest(f"{text[:80]!r} is not the cursor of a page of runs.")
        return cls(stored or None, before)

    def __str__(self) -> str:
        return f"{self.stored or ''}{SEPARATOR}{self.before}"


async def list_runs(records: Records, transient: TransientRuns | None, query: RunQuery) -> Page[ListedRun]:
    """A page has at most `query.limit` rows of both kinds."""
    await hold_read()
    cursor = RunCursor.read(query.after)
    query = msgspec.structs.replace(query, after=cursor.stored)
    stored: Page[RunRecord] = Page(()) if cursor.stored == END else await records.runs(query)
    unstored = transient.list(query, cursor.before) if transient is not None else ()
    rows = sorted([*stored.rows, *unstored], key=lambda run: run.started_at, reverse=True)
    page = rows[: query.limit]
    listed = [ListedRun(run, transient is None or transient.find(run.id) is None) for run in page]
    if len(rows) == len(page) and stored.next is None:
        return Page(listed)
    ids = {run.id for run in page}
    shown = sum(run.id in ids for run in stored.rows)
    position = stored.next or END if shown == len(stored.rows) else await find_cursor(records, query, shown)
    return Page(listed, str(RunCursor(position, page[-1].started_at)))


async def find_cursor(records: Records, query: RunQuery, shown: int) -> str | None:
    """The cursor of the store after the first `shown` rows of the query."""
    if shown == 0:
        return query.after
    return (await records.runs(msgspec.structs.replace(query, limit=shown))).next
