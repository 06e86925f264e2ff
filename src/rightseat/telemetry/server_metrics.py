"""Prometheus metrics of the server itself: its requests, databases, lease, readiness, process and event loop.

Names are those of OpenTelemetry where it has them. No label holds a user, a thread or an address, and a client cannot
make new ones: methods that are not known count as `_OTHER`, and faces, agents and dependencies are configured.
"""

import asyncio
import platform
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from rightseat.concurrency import cancel_and_wait
from rightseat.core.run.observers import TakeoverOutcome
from rightseat.operations.database_metrics import PoolState, ReportsDatabase
from rightseat.operations.leases import HeldLease

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
FIRST_CHUNK_BUCKETS_S = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)
OPERATION_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
DELAY_BUCKETS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
TICK_S = 1.0
SAMPLE_TICKS = 5  # with workers: one responds for all, so each keeps its own values fresh
FACELESS = "server"
"""The face of requests that no face serves: health checks, pages of the server, unknown paths, refused hosts."""
PAGE_BYTES = resource.getpagesize()
OPEN_FILES = Path("/proc/self/fd" if sys.platform == "linux" else "/dev/fd")
ReadStates = Callable[[], Awaitable[Mapping[str, bool]]]
"""Returns each dependency of the server with whether it is ready."""


class ServerMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, text: str, mode: Any, labels: Sequence[str] = ()) -> Gauge:
            return Gauge(name, text, labels, registry=registry, multiprocess_mode=mode)

        def histogram(name: str, text: str, buckets: Sequence[float], labels: Sequence[str] = ()) -> Histogram:
            return Histogram(name, text, labels, buckets=buckets, registry=registry)

        self._requests = histogram(
            "http_server_request_duration_seconds",
            "Time from a request to the first byte of its response.",
            BUCKETS_S,
            ("http_request_method", "http_response_status_code", "rightseat_face"),
        )
        self._first_chunks = histogram(
            "rightseat_first_chunk_seconds",
            "Time from a request to the first text of its run.",
            FIRST_CHUNK_BUCKETS_S,
            ("rightseat_face", "agent"),
        )
        self._operations = histogram(
            "db_client_operation_duration_seconds",
            "Duration of operations of databases, with the wait for a connection.",
            OPERATION_BUCKETS_S,
            ("db_system_name", "db_operation_name"),
        )
        pool = "db_client_connection_pool_name"
        self._connections = gauge(
            "db_client_connection_count",
            "Connections of a pool.",
            "livesum",
            (pool, "db_client_connection_state"),
        )
        self._most_connections = gauge(
            "db_client_connection_max", "Connections that a pool may have.", "livesum", (pool,)
        )
        self._lease_age = gauge(
            "rightseat_lease_age_seconds", "Time since this process last renewed its lease.", "livemax"
        )
        self._ready = gauge("rightseat_ready", "1 if the dependency is ready, else 0.", "livemin", ("dependency",))
        self._takeovers = Counter(
            "rightseat_takeovers", "Runs taken over from a process that died.", ("outcome",), registry=registry
        )
        self._loop_delay = histogram(
            "rightseat_event_loop_delay_seconds",
            "How late the event loop runs a timer of a second.",
            DELAY_BUCKETS_S,
        )
        self._cpu = Counter("process_cpu_seconds", "User and system CPU time.", registry=registry)
        self._memory = gauge("process_resident_memory_bytes", "Resident memory.", "livesum")
        self._files = gauge("process_open_fds", "Open file descriptors.", "livesum")
        gauge("process_start_time_seconds", "When the process started, since 1970.", "livemin").set(time.time())
        self._build = gauge("rightseat_build_info", "The running version.", "livemax", ("version", "python"))
        self._build.labels(version("rightseat"), platform.python_version()).set(1)
        for outcome in ("resumed", "cut_off"):
            self._takeovers.labels(outcome)
        self._counted_cpu = 0.0
        self._children: dict[tuple[str, ...], Any] = {}

    def observe_request(self, method: str, status: int, face: str, seconds: float) -> None:
        self._observe(self._requests, (method if method in METHODS else "_OTHER", str(status), face), seconds)

    def observe_first_chunk(self, face: str, agent: str, seconds: float) -> None:
        self._first_chunks.labels(face or FACELESS, agent).observe(seconds)

    def observe_operation(self, system: str, operation: str, seconds: float) -> None:
        self._observe(self._operations, (system, operation), seconds)

    def count_takeover(self, outcome: TakeoverOutcome) -> None:
        self._takeovers.labels(outcome).inc()

    def observe_loop_delay(self, seconds: float) -> None:
        self._loop_delay.observe(seconds)

    def set_lease_age(self, seconds: float) -> None:
        self._lease_age.set(seconds)

    def set_ready(self, dependencies: Mapping[str, bool]) -> None:
        for name, is_ready in dependencies.items():
            self._ready.labels(name).set(is_ready)

    def set_pools(self, pools: Iterable[PoolState]) -> None:
        for pool in pools:
            self._connections.labels(pool.name, "used").set(pool.used)
            self._connections.labels(pool.name, "idle").set(pool.idle)
            self._most_connections.labels(pool.name).set(pool.most)

    def read_process(self) -> None:
        """Blocks for as long as the kernel needs to list the open files."""
        cpu = time.process_time()
        self._cpu.inc(max(0.0, cpu - self._counted_cpu))
        self._counted_cpu = cpu
        self._memory.set(resident_bytes())
        self._files.set(sum(1 for _ in OPEN_FILES.iterdir()))

    def _observe(self, histogram: Histogram, labels: tuple[str, ...], seconds: float) -> None:
        child = self._children.get(labels)  # `labels` checks and locks each time
        if child is None:
            child = self._children[labels] = histogram.labels(*labels)
        child.observe(seconds)


def resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
    except OSError:  # no Linux: the most that it ever had
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024


class Sampler:
    """Reads what has a value rather than events: process, pools, lease, readiness. Measures the event loop's delay.

    `samplers` are those of the metrics: the face reads all of them before it responds.
    """

    def __init__(
        self,
        metrics: ServerMetrics,
        samplers: "set[Sampler]",
        read_states: ReadStates,
        databases: Sequence[ReportsDatabase],
        lease: HeldLease | None,
        *,
        has_workers: bool,
    ) -> None:
        self._metrics = metrics
        self._samplers = samplers
        self._read_states = read_states
        self._databases = databases
        self._lease = lease
        self._has_workers = has_workers

    async def __aenter__(self) -> Self:
        self._samplers.add(self)
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._samplers.discard(self)
        await cancel_and_wait(self._task)

    async def sample(self) -> None:
        self._metrics.set_ready(await self._read_states())
        self._metrics.set_pools(pool for database in self._databases for pool in database.pool_states())
        self._metrics.set_lease_age(self._lease.age_s if self._lease else 0.0)
        await asyncio.to_thread(self._metrics.read_process)

    async def _run(self) -> None:
        clock, ticks = asyncio.get_running_loop().time, 0
        while True:
            due = clock() + TICK_S
            await asyncio.sleep(TICK_S)
            self._metrics.observe_loop_delay(max(0.0, clock() - due))
            ticks += 1
            if self._has_workers and ticks % SAMPLE_TICKS == 0:
                await self.sample()
