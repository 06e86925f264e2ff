"""Stores shared logs in Redis streams: all commands, and how their replies are used.

A run is a stream, and the ids of its entries are our positions. XADD refuses an id that is not above the last one,
which is all the fencing there is; with NOMKSTREAM it replies nil if the stream is gone. No scripts.
"""

import logging
from collections.abc import Mapping, Sequence

from redis.exceptions import AuthenticationError, ResponseError

from rightseat.concurrency import run_or_undo
from rightseat.core.errors import ConfigError, LogTruncated, RunExists, RunNotFound, StaleWriter
from rightseat.core.log import Position
from rightseat.logs.redis.changes import RedisChanges
from rightseat.logs.redis.connection import Command, RedisConnection, Reply, build_pool
from rightseat.logs.redis.replies import check, read_added, read_info, read_records
from rightseat.logs.redis.subscription import RedisSubscription
from rightseat.logs.shared.backend import BackendUnavailable, Claim, LastPosition
from rightseat.logs.shared.records import CREATED, START, Record, RecordPage, find_last_entry
from rightseat.operations.database_metrics import ObserveOperation, PoolState, ignore_operation

logger = logging.getLogger(__name__)

ABANDONED_S = b"86400"  # a run without an end expires after this, unless its writer renews it
REPLICATION_TIMEOUT_S = 1.0


class RedisBackend:
    max_runs_per_subscription = 500  # XREAD looks at each of its streams every time

    def __init__(
        self, url: str, *, prefix: str, min_replicas: int, retention_seconds: float, judged_seconds: float = 0
    ) -> None:
        self._pool = build_pool(url)
        self._prefix = prefix.encode()
        self._min_replicas = min_replicas
        self._retention_s = b"%d" % max(int(retention_seconds), 1)
        # A judged run may be resumed meanwhile: then nothing must expire it earlier than an abandoned one.
        self._judged_s = b"%d" % max(int(judged_seconds), int(retention_seconds), int(ABANDONED_S))
        self._observe: ObserveOperation = ignore_operation

    def observe_operations(self, observe: ObserveOperation) -> None:
        self._observe = observe

    def pool_states(self) -> Sequence[PoolState]:
        """Those of subscriptions are not counted: each waits for new entries all the time."""
        every = (self._writing, self._control, self._reading)
        used = sum(one.is_busy for one in every)
        return (PoolState("log", used, len(every) - used, len(every)),)

    async def open(self) -> None:
        self._writing = RedisConnection(self._pool, self._observe)
        self._control = RedisConnection(self._pool, self._observe)
        self._reading = RedisConnection(self._pool, self._observe)
        try:
            server, memory = await self._control.send((b"INFO", b"server"), (b"INFO", b"memory"))
            check(server)
        except BackendUnavailable as error:
            await self.close()
            is_login = isinstance(error.__cause__, AuthenticationError)
            advice = "Check user and password in its `url`." if is_login else "Is it running, and is its `url` right?"
            raise ConfigError(f"Cannot use the Redis of the log: {str(error).rstrip('.')}. {advice}") from error
        info = read_info(server) | (read_info(memory) if isinstance(memory, bytes) else {})
        if problem := find_problem(info):
            await self.close()
            raise ConfigError(problem)
        if info.get("maxmemory", "0") != "0" and info.get("maxmemory_policy") != "noeviction":
            logger.warning("Redis may evict runs when its memory is full; set `maxmemory-policy noeviction`")

    async def close(self) -> None:
        await self._writing.close()
        await self._control.close()
        await self._reading.close()

    def key(self, run_id: str) -> bytes:
        return b"%blog:%b" % (self._prefix, run_id.encode())

    def changes(self) -> RedisChanges:
        return RedisChanges(self._pool, lambda: self._control, self._prefix + b"changes")

    # Writing

    async def create(self, run_id: str, idempotency_key: bytes) -> None:
        key = self.key(run_id)
        read_first = (b"XRANGE", key, b"-", b"+", b"COUNT", b"1")
        add = (b"XADD", key, b"0-1", b"created", idempotency_key)
        added, found, *_ = await self._send_replicated(add, read_first, renew(key))
        if isinstance(added, ResponseError) and read_records(found)[0] != Record(CREATED, "created", idempotency_key):
            raise RunExists(run_id)

    async def claim(self, run_id: str, epoch: int, base: int | None, idempotency_key: bytes) -> Claim:
        key, fence = self.key(run_id), Position(epoch, base or 0)
        id = str(fence).encode()
        if base is None:
            add: Command = (b"XADD", key, b"NOMKSTREAM", id, b"fence", idempotency_key)
        else:
            add = (b"XADD", key, id, b"base", idempotency_key)
        commands = (add, (b"XRANGE", key, id, id), read_last(key), read_before(key, fence), renew(key))
        added, found, last, earlier, *_ = await self._send_replicated(*commands)
        if not last:
            raise RunNotFound(run_id)
        if isinstance(added, ResponseError) and not any(
            record.content == idempotency_key for record in read_records(found)
        ):
            raise StaleWriter(run_id, epoch, read_records(last)[0].position.epoch)
        return Claim(fence, fence if base is not None else await self._find_last_entry(key, read_records(earlier)))

    async def _find_last_entry(self, key: bytes, records: Sequence[Record]) -> Position:
        """Usually one or two records back; more if writers claimed the run without appending."""
        while records:
            if last_entry := find_last_entry(records):
                return last_entry
            [found] = await self._control.send(read_before(key, records[-1].position))
            check(found)
            records = read_records(found)
        return START

    async def append(self, records: Sequence[tuple[str, Record]]) -> Sequence[LastPosition]:
        commands = [
            (b"XADD", self.key(run_id), b"NOMKSTREAM", b"%d-%d" % record.position, record.kind.encode(), record.content)
            for run_id, record in records
        ]
        blocks_s = REPLICATION_TIMEOUT_S if self._min_replicas else 0.0
        replies = await self._writing.send(*commands, *self._wait_commands(), blocks_s=blocks_s)
        self._check_replicas(replies[len(commands) :])
        last_positions = [read_added(reply) for reply in replies[: len(commands)]]
        refused = [index for index, last_position in enumerate(last_positions) if last_position is START]
        if refused:
            found = await self.last_positions([records[index][0] for index in refused])
            for index, last_position in zip(refused, found, strict=True):
                last_positions[index] = last_position
        results = zip(records, last_positions, strict=True)
        await self._expire([run_id for (run_id, record), last_position in results if is_end(record, last_position)])
        return last_positions

    async def _expire(self, run_ids: Sequence[str]) -> None:
        if run_ids:
            await self._control.send(*((b"EXPIRE", self.key(run_id), self._retention_s) for run_id in run_ids))

    async def last_positions(self, run_ids: Sequence[str]) -> Sequence[LastPosition]:
        found = await self._send_replicated(*(read_last(self.key(run_id)) for run_id in run_ids))
        return [read_records(reply)[0].position if reply else None for reply in found[: len(run_ids)]]

    # Reading

    async def read(self, run_id: str, after: Position, count: int) -> RecordPage:
        key = self.key(run_id)
        read_after = (b"XRANGE", key, f"({after}".encode(), b"+", b"COUNT", b"%d" % count)
        found, last, *_ = await run_or_undo(
            self._send_replicated(read_after, read_last(key), connection=self._reading), undo_nothing
        )
        if not last:
            raise RunNotFound(run_id)
        last_position = read_records(last)[0].position
        if last_position < after:
            raise LogTruncated(run_id, str(last_position))
        records = read_records(found)
        return RecordPage(records, len(records) < count)

    def subscribe(self) -> RedisSubscription:
        wait_for_replicas = self.wait_for_replicas if self._min_replicas else None
        return RedisSubscription(RedisConnection(self._pool), self._control, self.key, wait_for_replicas)

    # Deleting

    async def delete(self, run_ids: Sequence[str]) -> None:
        if run_ids:
            [reply] = await self._control.send((b"UNLINK", *map(self.key, run_ids)))
            check(reply)

    async def keep_judged(self, run_id: str) -> None:
        [reply] = await self._control.send((b"EXPIRE", self.key(run_id), self._judged_s))
        check(reply)

    async def clean_up(self, live: Sequence[str]) -> None:
        """Redis expires streams by itself; live runs only have to be renewed."""
        if live:
            await self._control.send(*(renew(self.key(run_id)) for run_id in live))

    # Replicas

    async def wait_for_replicas(self) -> None:
        """Return when the replicas have everything that could be read before."""
        await self._send_replicated()

    async def _send_replicated(self, *commands: Command, connection: RedisConnection | None = None) -> list[Reply]:
        """Send commands and wait for the replicas.

        WAIT covers only writes of its own connection, and replication keeps the order of writes. So a small write of
        our own, sent after the commands, proves that the replicas have everything that the commands have read.
        """
        connection = connection or self._control
        if not self._min_replicas:
            replies = await connection.send(*commands)
        else:
            write = (b"SET", b"%breplicated" % self._prefix, b"", b"EX", b"60")
            replies = await connection.send(*commands, write, *self._wait_commands(), blocks_s=REPLICATION_TIMEOUT_S)
            self._check_replicas(replies[len(commands) + 1 :])
        for reply in replies[: len(commands)]:
            check(reply)
        return replies

    def _wait_commands(self) -> Sequence[Command]:
        if not self._min_replicas:
            return ()
        return ((b"WAIT", b"%d" % self._min_replicas, b"%d" % (REPLICATION_TIMEOUT_S * 1000)),)

    def _check_replicas(self, replies: Sequence[Reply]) -> None:
        for reply in replies:
            check(reply)
            if reply < self._min_replicas:
                raise BackendUnavailable(
                    f"only {reply} Redis replicas acknowledged the write, {self._min_replicas} are required"
                )


def read_last(key: bytes) -> Command:
    return (b"XREVRANGE", key, b"+", b"-", b"COUNT", b"1")


def read_before(key: bytes, position: Position) -> Command:
    return (b"XREVRANGE", key, f"({position}".encode(), b"-", b"COUNT", b"8")


def renew(key: bytes) -> Command:
    return (b"EXPIRE", key, ABANDONED_S)


def find_problem(info: Mapping[str, str]) -> str | None:
    """Why this server cannot store the log; None if it can."""
    if info.get("redis_mode") == "cluster":
        return "The log needs one Redis with its replicas; this one is part of a cluster."
    version = info.get("redis_version", "0.0")
    if tuple(int(part) for part in version.split(".")[:2]) < (6, 2):
        return f"The log needs Redis 6.2 or newer, or Valkey; this one is {version}."
    return None


def is_end(record: Record, last_position: LastPosition) -> bool:
    return record.kind == "end" and last_position == record.position


async def undo_nothing(_: object) -> None:
    """A cancelled read has nothing to undo; it is finished because half an exchange would break the connection."""
