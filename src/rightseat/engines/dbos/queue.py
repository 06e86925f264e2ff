"""Dequeues runs to resume, in one thread with one statement a second.

DBOS has two threads for this, which execute five statements in four transactions a second (11 ms of CPU), because
queues can be configured while a server runs and workflows can have a delay. The engine uses neither.
"""

import threading

from dbos import DBOS
from dbos._queue import _INTERNAL_QUEUE_CONSTRUCTION, Queue, queue_worker_thread
from dbos._schemas.system_database import SystemSchema
from dbos._sys_db import SystemDatabase
from sqlalchemy import Connection, literal_column, select

QUEUE = "rightseat"
"""The queue of runs to resume. All processes listen to it."""
QUEUE_POLL_INTERVAL_S = 1.0
WORKFLOWS = SystemSchema.workflow_status
ENQUEUED = (
    select(WORKFLOWS.c.workflow_uuid)
    .where(
        WORKFLOWS.c.queue_name == QUEUE,
        WORKFLOWS.c.status == "ENQUEUED",
        # SQLite uses the index of workflows in flight only if the statement has its condition, in literals.
        WORKFLOWS.c.status.in_([literal_column("'ENQUEUED'"), literal_column("'PENDING'")]),
    )
    .limit(1)
)


def dequeue_runs(stopped: threading.Event, dbos: DBOS) -> None:
    """Start enqueued runs until `stopped` is set. DBOS's own worker starts them; it only polls when there are some."""
    queue = Queue(QUEUE, polling_interval_sec=QUEUE_POLL_INTERVAL_S, token=_INTERNAL_QUEUE_CONSTRUCTION)
    queue_worker_thread(_UntilEnqueued(stopped, dbos._sys_db), dbos, queue)  # type: ignore[arg-type]  # it uses no more


class _UntilEnqueued:
    """The event that stops DBOS's worker, whose interval between two polls ends only when a run is enqueued."""

    def __init__(self, stopped: threading.Event, database: SystemDatabase) -> None:
        self._stopped = stopped
        self._database = database

    def is_set(self) -> bool:
        return self._stopped.is_set()

    def wait(self, timeout: float) -> bool:
        while not self._stopped.wait(timeout):
            try:
                if has_enqueued(self._database):
                    return False
            except Exception:
                return False  # the worker's own query fails as well, and the worker logs why
        return True


def has_enqueued(database: SystemDatabase) -> bool:
    """Whether a run waits to be resumed."""
    with query_connection(database) as connection:
        return connection.execute(ENQUEUED).first() is not None


def query_connection(database: SystemDatabase) -> Connection:
    """A connection for one query. On PostgreSQL, it saves the two round trips of a transaction.

    The driver of SQLite begins no transaction for a query, and `AUTOCOMMIT` would undo DBOS's setting of a connection.
    """
    connection = database.engine.connect()
    if connection.dialect.name == "sqlite":
        return connection
    return connection.execution_options(isolation_level="AUTOCOMMIT")
