"""Finds the unfinished runs of processes, and adopts those of a dead one, by functions like those of `run_queries`."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, bindparam, delete, select, update

from rightseat.core.ask import Ask
from rightseat.stores.prepared import PreparedStatement
from rightseat.stores.tables import processes, runs

OTHER_PROCESSES = PreparedStatement(
    select(runs.c.process_id).distinct().where(runs.c.outcome.is_(None), runs.c.process_id != bindparam("own_process"))
)
"""The other processes that have unfinished runs."""
ORPHANS = select(runs.c.id, runs.c.ask).where(runs.c.outcome.is_(None), runs.c.process_id == bindparam("dead_process"))
ORPHANS = ORPHANS.order_by(runs.c.number).with_for_update()
ADOPT = update(runs).where(runs.c.outcome.is_(None), runs.c.process_id == bindparam("dead_process"))
ADOPT = ADOPT.values(process_id=bindparam("own_process"))
OWN_UNFINISHED = select(runs.c.id, runs.c.ask).where(
    runs.c.outcome.is_(None), runs.c.process_id == bindparam("own_process")
)
REQUEST_STOP = (
    update(runs)
    .where(runs.c.id == bindparam("of_run"), runs.c.outcome.is_(None), runs.c.process_id != bindparam("own_process"))
    .values(stop_requested=True)
)
REQUESTED_STOPS = PreparedStatement(
    select(runs.c.id).where(
        runs.c.outcome.is_(None), runs.c.process_id == bindparam("own_process"), runs.c.stop_requested
    )
)
DELETE_PROCESS = delete(processes).where(processes.c.id == bindparam("dead_process"))


def adopt(connection: Connection, dead_process: int, own_process: int) -> list[Ask]:
    found = connection.execute(ORPHANS, {"dead_process": dead_process}).all()
    connection.execute(ADOPT, {"dead_process": dead_process, "own_process": own_process})
    connection.execute(DELETE_PROCESS, {"dead_process": dead_process})  # only after its runs are adopted
    return [msgspec.json.decode(row.ask, type=Ask) for row in found if row.ask]


def find_unfinished(connection: Connection, own_process: int) -> dict[str, Ask]:
    """The asks of this process's unfinished runs."""
    found = connection.execute(OWN_UNFINISHED, {"own_process": own_process})
    return {row.id: msgspec.json.decode(row.ask, type=Ask) for row in found if row.ask}


def request_stop(connection: Connection, run_id: str, own_process: int) -> bool:
    return connection.execute(REQUEST_STOP, {"of_run": run_id, "own_process": own_process}).rowcount > 0


RUNNING = select(runs.c.id).where(runs.c.outcome.is_(None), runs.c.id.in_(bindparam("of_runs", expanding=True)))


def find_running(connection: Connection, run_ids: Sequence[str]) -> set[str]:
    return set(connection.execute(RUNNING, {"of_runs": list(run_ids)}).scalars())
