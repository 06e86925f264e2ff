"""What the store needs of a database. `databases` has one of SQLite, `postgresql` one of PostgreSQL."""

import secrets
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection

from rightseat.operations.database_metrics import ObserveOperation, PoolState
from rightseat.operations.leases import HeldLease
from rightseat.stores.prepared import Parameters, PreparedStatement, Row
from rightseat.stores.scripts import Script

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[Concatenate[Connection, P], T]


class StoreDatabase(Protocol):
    dialect: str
    """SQLAlchemy's name of the kind of database."""
    process_id: int
    """Unique to this process, for ever."""
    reap_every: float | None
    """Seconds between two searches for dead processes; None if there can be no other process."""
    observe_operation: ObserveOperation
    on_lost_scripts: Callable[[], None]
    """Called when the connection of the scripts is lost: the last commits of `run_statements` may be."""

    @property
    def lease(self) -> HeldLease | None:
        """None if other processes detect the death of this one without a lease."""
        ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def pool_states(self) -> Sequence[PoolState]: ...

    async def write(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work` with a connection, in a transaction of its own."""
        ...

    async def write_run_end(self, run_id: str, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `write`. If the log of the run is open in the same file, it may return before the commit: what the run
        appends to its log next, and the end of the log, become part of the transaction.
        """
        ...

    async def run_script(self, script: Script[T]) -> T:
        """Run a script in a transaction of its own, at the lowest cost."""
        ...

    async def run_statements(self, script: Script[T]) -> T:
        """Run a script whose statements may each be a transaction of its own."""
        ...

    async def read(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `write`, for work that only reads: it sees one snapshot."""
        ...

    async def read_beside(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `read`, for work that may read many megabytes and must not delay other work."""
        ...

    async def query(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `read`, for work of one statement, which needs no transaction."""
        ...

    def lacks_thread(self, thread_id: str) -> bool:
        """Whether there is certainly no such thread; False if that is not known without waiting."""
        ...

    async def poll(self, statement: PreparedStatement, parameters: Parameters) -> Sequence[Row]:
        """Execute one query that a server at rest executes again and again, at the lowest cost."""
        ...

    async def scan(self, work: Work[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `read_beside`, but does not see writes that have not returned yet."""
        ...

    async def find_suspects(self, process_ids: Sequence[int]) -> Sequence[int]:
        """Those of the processes that may be dead. Saves a transaction with `is_dead` for each of the others."""
        ...

    def is_dead(self, connection: Connection, process_id: int) -> bool:
        """Whether another process is dead. Stays true until the end of the transaction."""
        ...

    def erase(self) -> None:
        """Overwrite deleted data within seconds, if the database itself would keep it for longer."""
        ...


def new_process_id() -> int:
    return secrets.randbits(62)
