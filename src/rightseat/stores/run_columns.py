"""The columns of `runs` for the fields of `RunRecord`: all that are read, those written first, and those at the end.

To store another field, add it to `RunRecord` (and to `RunEnd`, if the end of the run decides it) and to the table, in a
column of the same name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Column

from rightseat.core.usage import ModelUsage
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
READ_FROM_OTHER_TABLES = ("has_questions", "is_waiting", "feedback")

RUN_COLUMNS: Mapping[str, Column[Any]] = {
    field: runs.c[OTHER_NAMES.get(field, field)]
    for field in RunRecord.__struct_fields__
    if field not in READ_FROM_OTHER_TABLES
}
BEGIN_COLUMNS = {field: column.name for field, column in RUN_COLUMNS.items() if field not in RunEnd.__struct_fields__}
END_COLUMNS = {field: RUN_COLUMNS[field] for field in RunEnd.__struct_fields__ if field in RUN_COLUMNS}

_decode_models = msgspec.json.Decoder(tuple[ModelUsage, ...]).decode


def read_models(text: str | None) -> Sequence[ModelUsage]:
    return _decode_models(text) if text else ()
