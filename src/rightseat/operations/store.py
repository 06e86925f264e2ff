"""Everything that the store of a server stores, as one value."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rightseat.core.artifacts import Artifacts
from rightseat.core.threads import Threads
from rightseat.limits.store import LimitStore
from rightseat.operations.annotations import AnnotationStore
from rightseat.operations.api_keys import ApiKeyStore
from rightseat.operations.audit import AuditStore
from rightseat.operations.changes import DeletionStore
from rightseat.operations.ended_sessions import EndedSessionStore
from rightseat.operations.feedback import FeedbackStore
from rightseat.operations.leases import HeldLease
from rightseat.operations.memories import MemoryStore
from rightseat.operations.model_calls import ModelCallStore
from rightseat.operations.pins import PinStore
from rightseat.operations.recordings import Recordings
from rightseat.operations.records import Records
from rightseat.operations.secret_uses import SecretUseStore
from rightseat.operations.stops import Stops


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """What a store lacks is None: a store of your own needs nothing but threads.

    `artifacts` are deleted with their threads. `records` lists the threads and runs of all users. `pins` and
    `secret_uses` are shared by all servers of the store; None if only one server uses it. `stops` and `lease` are None
    if no other process uses the store, or if their locks are in the file system.
    """

    threads: Threads
    artifacts: Artifacts | None = None
    records: Records | None = None
    limits: LimitStore | None = None
    api_keys: ApiKeyStore | None = None
    ended_sessions: EndedSessionStore | None = None
    audit: AuditStore | None = None
    feedback: FeedbackStore | None = None
    memories: MemoryStore | None = None
    annotations: AnnotationStore | None = None
    deletions: DeletionStore | None = None
    recordings: Recordings | None = None
    model_calls: ModelCallStore | None = None
    pins: PinStore | None = None
    secret_uses: SecretUseStore | None = None
    stops: Stops | None = None
    lease: HeldLease | None = None


@runtime_checkable
class StoresMore(Protocol):
    """A store of threads that stores more than these."""

    def store(self) -> Store:
        """Call it after `share_file`, on which the result depends."""
        ...


def store_of(threads: Threads) -> Store:
    return threads.store() if isinstance(threads, StoresMore) else Store(threads=threads)
