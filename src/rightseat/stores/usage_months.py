"""Merges old usage rows by month: the row of the first day of a month then has the sums of all of its days."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import BindParameter, Connection, Row, bindparam, delete, func, select, tuple_

from rightseat.limits.kinds import UsageCounts
from rightseat.limits.windows import find_zone
from rightseat.stores.limit_queries import COUNT_NAMES, STATEMENTS
from rightseat.stores.limit_rows import AddedUsage, SavedRows
from rightseat.stores.scripts import run_script
from rightseat.stores.tables import usage

DAILY_USAGE_DAYS = 400
"""Rows of the last 400 days stay those of a day, so that a day can be compared with the same one a year before."""
MERGE_BATCH_ROWS = 500

KEY = tuple(usage.primary_key.columns)
KEY_NAMES = tuple(column.name for column in KEY)
BEFORE: BindParameter[str] = bindparam("before")
BATCH: BindParameter[int] = bindparam("batch")
# Replicas merge at the same time: a row that another one is merging is skipped, and nothing waits for a lock.
OLD_ROWS = (
    select(*KEY)
    .where(usage.c.day < BEFORE, func.substr(usage.c.day, 9) != "01")
    .order_by(*KEY)
    .limit(BATCH)
    .with_for_update(skip_locked=True)
)
TAKE_OLD_ROWS = delete(usage).where(tuple_(*KEY).in_(OLD_ROWS)).returning(usage)


def first_daily_day(now: datetime, zone: str) -> str:
    """The first day whose rows are not merged."""
    return (now.astimezone(find_zone(zone)).date() - timedelta(days=DAILY_USAGE_DAYS)).isoformat()


def merge_months(connection: Connection, before: str, batch: int = MERGE_BATCH_ROWS) -> int:
    """Merge some rows of days before this one, in the transaction of the connection. Returns how many; 0 at the end."""
    rows = connection.execute(TAKE_OLD_ROWS, {"before": before, "batch": batch}).all()
    if rows:
        run_script(connection, STATEMENTS[connection.dialect.name].save(SavedRows(usage=sum_by_month(rows))))
    return len(rows)


def sum_by_month(rows: Iterable[Row[Any]]) -> list[AddedUsage]:
    """Sorted by their key, the order in which all transactions lock usage rows."""
    sums: defaultdict[tuple[str, ...], UsageCounts] = defaultdict(UsageCounts)
    for row in rows:
        found = row._mapping
        month = (f"{found['day'][:7]}-01", *(found[name] for name in KEY_NAMES[1:]))
        sums[month] = sums[month].add(UsageCounts(*(found[name] for name in COUNT_NAMES)))
    names = AddedUsage.__struct_fields__
    values = [(*key, *msgspec.structs.astuple(sums[key])) for key in sorted(sums)]
    return [msgspec.convert(dict(zip(names, row, strict=True)), AddedUsage) for row in values]
