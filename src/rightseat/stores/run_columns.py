"""The columns of `runs` for the fields of `RunRecord`: all that are read, those written first, and those at the end.

To store another field, add it to `RunRecord` (and to `RunEnd`, if the end of the run decides it) and to the table, in a
column of the same name.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Column

from rightseat.operations.records import RunEnd, RunRecord
from rightseat.stores.tables import runs

OTHER_NAMES = {
    "thread": "thread_id",
    "user": "owner",
    "started_at": "created_at",
    "ended_at": "finished_at",
    "code": "error_code",
    "models": "model_usage",
}
READ_FROM_INTERRUPTS = ("has_questions", "is_waiting")

RUN_COLUMNS: Mapping[str, Column[Any]] = {
    field: runs.c[OTHER_NAMES.get(field, field)]
    for field in RunRecord.__struct_fields__
    if field not in READ_FROM_INTERRUPTS
}
BEGIN_COLUMNS = {field: column.name for field, column in RUN_COLUMNS.items() if field not in RunEnd.__struct_fields__}
END_COLUMNS = {field: RUN_COLUMNS[field] for field in RunEnd.__struct_fields__ if field in RUN_COLUMNS}
