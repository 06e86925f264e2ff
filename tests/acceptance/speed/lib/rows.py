"""What the rows of a stored run cost if bare `sqlite3` writes them: the limit of AG-UI's requests on a SQLite file.

The rows are those of the server's last run. They are written again under new ids, to a copy of the server's file: in one
transaction what claims a run, in another what ends it. Nothing is parsed, decided or sent.
"""

import sqlite3
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Row = Mapping[str, object]

LAST_RUN = "SELECT * FROM runs WHERE outcome IS NOT NULL ORDER BY number DESC LIMIT 1"
RECORDS = "SELECT * FROM log_records WHERE run_key = ? AND number > ? AND number <= ?"
END_THREAD = "UPDATE threads SET active_run_id = NULL, updated_at = ? WHERE id = ?"
END_RUN = "UPDATE runs SET outcome = ?, input_tokens = ?, output_tokens = ?, model_calls = ?, model_usage = ?, finished_at = ? WHERE id = ?"
END_FIELDS = ("outcome", "input_tokens", "output_tokens", "model_calls", "model_usage", "finished_at")


@dataclass(frozen=True)
class StoredRun:
    thread: Row
    run: Row
    log_run: Row
    records: list[Row]
    messages: list[Row]
    texts: list[Row]

    def write(self, connection: sqlite3.Connection, id: str) -> None:
        execute = connection.execute
        execute("BEGIN IMMEDIATE")
        insert(connection, "threads", self.thread, id=id, active_run_id=id)
        insert(connection, "runs", self.run, number=None, id=id, thread_id=id, **dict.fromkeys(END_FIELDS))
        execute("COMMIT")
        execute("BEGIN IMMEDIATE")
        key = insert(connection, "log_runs", self.log_run, key=None, id=id)
        for record in self.records:
            insert(connection, "log_records", record, number=None, run_key=key)
        for message in self.messages:
            insert(connection, "messages", message, thread_id=id)
        for text in self.texts:
            insert(connection, "message_texts", text, thread_id=id)
        execute(END_THREAD, (self.thread["updated_at"], id))
        execute(END_RUN, (*(self.run[field] for field in END_FIELDS), id))
        execute("COMMIT")


def write_runs(database: Path, copy: Path, count: int) -> float:
    """CPU seconds of each run. The copy is made anew, with the pragmas of a server's connection."""
    copy.unlink(missing_ok=True)
    connection = sqlite3.connect(copy, isolation_level=None)
    try:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as source:
            source.backup(connection)
        source.close()
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}")
        run = read_run(connection)
        began = time.thread_time()
        for _ in range(count):
            run.write(connection, str(uuid.uuid4()))
        return (time.thread_time() - began) / count
    finally:
        connection.close()


def read_run(connection: sqlite3.Connection) -> StoredRun:
    [run] = read(connection, LAST_RUN)
    [thread] = read(connection, "SELECT * FROM threads WHERE id = ?", run["thread_id"])
    [log_run] = read(connection, "SELECT * FROM log_runs WHERE id = ?", run["id"])
    records = read(connection, RECORDS, log_run["key"], log_run["rows_after"], log_run["last_row"])
    messages = read(connection, "SELECT * FROM messages WHERE thread_id = ?", run["thread_id"])
    texts = read(connection, "SELECT * FROM message_texts WHERE thread_id = ?", run["thread_id"])
    if not (records and messages and texts):
        raise LookupError("the server's last run has no rows of its log or of its messages")
    return StoredRun(thread, run, log_run, records, messages, texts)


def read(connection: sqlite3.Connection, statement: str, *values: object) -> list[Row]:
    cursor = connection.execute(statement, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


def insert(connection: sqlite3.Connection, table: str, row: Row, **changed: object) -> int | None:
    values = {**row, **changed}
    statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
    return connection.execute(statement, tuple(values.values())).lastrowid
