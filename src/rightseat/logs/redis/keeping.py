"""What is asked of Redis: every command, and what its answers mean.

A run is a stream, and the ids of its entries are ours. XADD refuses an id that is not above the last one, which is all
the fencing there is; with NOMKSTREAM it answers nil where the stream is gone. No scripts.
"""

import logging
from collections.abc import Mapping, Sequence

from redis.exceptions import AuthenticationError, ResponseError

from rightseat.core.cancelling import whole
from rightseat.core.errors import ConfigError, EntriesGone, RunExists, RunNotFound, StaleWriter
from rightseat.core.log import Position
from rightseat.logs.keeper import Away, Claim, Top
from rightseat.logs.pieces import MADE, START, Page, Piece, last_said
from rightseat.logs.redis.hearing import RedisEar
from rightseat.logs.redis.line import Command, Line, Reply, pool
from rightseat.logs.redis.replies import check, read_added, read_info, read_pieces

logger = logging.getLogger(__name__)

PAGE = 200  # pieces that are read at once
ABANDONED = b"86400"  # seconds after which a run goes that has no end, and no writer who says that it lives
SETTLING = 1.0  # seconds to wait for replicas, each time


class RedisKeeper:
    most = 500  # XREAD looks at each of its streams every time

    def __init__(self, url: str, *, prefix: str, wait: int, keep: float) -> None:
        self._pool = pool(url)
        self._prefix = prefix.encode()
        self._wait = wait
        self._keep = b"%d" % max(int(keep), 1)

    async def open(self) -> None:
        self._writing, self._asking, self._reading = Line(self._pool), Line(self._pool), Line(self._pool)
        try:
            server, memory = await self._asking.ask((b"INFO", b"server"), (b"INFO", b"memory"))
            check(server)
        except Away as error:
            await self.close()
            is_login = isinstance(error.__cause__, AuthenticationError)
            advice = "Check user and password in its `url`." if is_login else "Is it running, and is its `url` right?"
            raise ConfigError(f"The Redis of the log cannot be used: {str(error).rstrip('.')}. {advice}") from error
        info = read_info(server) | (read_info(memory) if isinstance(memory, bytes) else {})
        if problem := unfit(info):
            await self.close()
            raise ConfigError(problem)
        if info.get("maxmemory", "0") != "0" and info.get("maxmemory_policy") != "noeviction":
            logger.warning("Redis may drop runs when its memory is full; give it `maxmemory-policy noeviction`")

    async def close(self) -> None:
        await self._writing.close()
        await self._asking.close()
        await self._reading.close()

    def key(self, run_id: str) -> bytes:
        return b"%blog:%b" % (self._prefix, run_id.encode())

    # Writing

    async def create(self, run_id: str, mark: bytes) -> None:
        key = self.key(run_id)
        first = (b"XRANGE", key, b"-", b"+", b"COUNT", b"1")
        added, found, *_ = await self._settled((b"XADD", key, b"0-1", b"made", mark), first, stay(key))
        if isinstance(added, ResponseError) and read_pieces(found)[0] != Piece(MADE, "made", mark):
            raise RunExists(run_id)

    async def claim(self, run_id: str, epoch: int, base: int | None, mark: bytes) -> Claim:
        key, fence = self.key(run_id), Position(epoch, base or 0)
        id = str(fence).encode()
        if base is None:
            mine: Command = (b"XADD", key, b"NOMKSTREAM", id, b"fence", mark)
        else:
            mine = (b"XADD", key, id, b"base", mark)
        asked = (mine, (b"XRANGE", key, id, id), last(key), before(key, fence), stay(key))
        added, found, top, earlier, *_ = await self._settled(*asked)
        if not top:
            raise RunNotFound(run_id)
        if isinstance(added, ResponseError) and not any(piece.content == mark for piece in read_pieces(found)):
            raise StaleWriter(run_id, epoch, read_pieces(top)[0].at.epoch)
        return Claim(fence, fence if base is not None else await self._last_said(key, read_pieces(earlier)))

    async def _last_said(self, key: bytes, pieces: Sequence[Piece]) -> Position:
        """Usually a step or two back; more where writers came and said nothing."""
        while pieces:
            if said := last_said(pieces):
                return said
            [found] = await self._asking.ask(before(key, pieces[-1].at))
            check(found)
            pieces = read_pieces(found)
        return START

    async def append(self, pieces: Sequence[tuple[str, Piece]]) -> Sequence[Top]:
        commands = [
            (b"XADD", self.key(run_id), b"NOMKSTREAM", b"%d-%d" % piece.at, piece.kind.encode(), piece.content)
            for run_id, piece in pieces
        ]
        replies = await self._writing.ask(*commands, *self._waiting(), waits=self._wait and SETTLING)
        self._check_replicas(replies[len(commands) :])
        tops = [read_added(reply) for reply in replies[: len(commands)]]
        refused = [number for number, top in enumerate(tops) if top is START]
        if refused:
            found = await self.tops([pieces[number][0] for number in refused])
            for number, top in zip(refused, found, strict=True):
                tops[number] = top
        await self._expire([run_id for (run_id, piece), top in zip(pieces, tops, strict=True) if is_end(piece, top)])
        return tops

    async def _expire(self, run_ids: Sequence[str]) -> None:
        if run_ids:
            await self._asking.ask(*((b"EXPIRE", self.key(run_id), self._keep) for run_id in run_ids))

    async def tops(self, run_ids: Sequence[str]) -> Sequence[Top]:
        found = await self._settled(*(last(self.key(run_id)) for run_id in run_ids))
        return [read_pieces(reply)[0].at if reply else None for reply in found[: len(run_ids)]]

    # Reading

    async def read(self, run_id: str, after: Position) -> Page:
        key = self.key(run_id)
        behind = (b"XRANGE", key, f"({after}".encode(), b"+", b"COUNT", b"%d" % PAGE)
        found, top, *_ = await whole(self._settled(behind, last(key), line=self._reading), nothing)
        if not top:
            raise RunNotFound(run_id)
        highest = read_pieces(top)[0].at
        if highest < after:
            raise EntriesGone(run_id, str(highest))
        pieces = read_pieces(found)
        return Page(pieces, len(pieces) < PAGE)

    def ear(self) -> RedisEar:
        return RedisEar(Line(self._pool), self._asking, self.key, self.settle if self._wait else None)

    # Forgetting

    async def forget(self, run_ids: Sequence[str]) -> None:
        if run_ids:
            [reply] = await self._asking.ask((b"UNLINK", *map(self.key, run_ids)))
            check(reply)

    async def keep_house(self, live: Sequence[str]) -> None:
        """Redis forgets by itself; it only has to hear that a run lives."""
        if live:
            await self._asking.ask(*(stay(self.key(run_id)) for run_id in live))

    # Replicas

    async def settle(self) -> None:
        """Returns when the replicas have everything that could be read before."""
        await self._settled()

    async def _settled(self, *commands: Command, line: Line | None = None) -> list[Reply]:
        """Ask, and wait for the replicas. WAIT speaks only of what its own connection wrote, and what comes after
        something in the stream of changes was read after it: so a small write of our own vouches for all before it."""
        line = line or self._asking
        if not self._wait:
            replies = await line.ask(*commands)
        else:
            vouching = (b"SET", b"%bsettled" % self._prefix, b"", b"EX", b"60")
            replies = await line.ask(*commands, vouching, *self._waiting(), waits=SETTLING)
            self._check_replicas(replies[len(commands) + 1 :])
        for reply in replies[: len(commands)]:
            check(reply)
        return replies

    def _waiting(self) -> Sequence[Command]:
        return ((b"WAIT", b"%d" % self._wait, b"%d" % (SETTLING * 1000)),) if self._wait else ()

    def _check_replicas(self, replies: Sequence[Reply]) -> None:
        for reply in replies:
            check(reply)
            if reply < self._wait:
                raise Away(f"{reply} of Redis's replicas have what was written, and {self._wait} should")


def last(key: bytes) -> Command:
    return (b"XREVRANGE", key, b"+", b"-", b"COUNT", b"1")


def before(key: bytes, place: Position) -> Command:
    return (b"XREVRANGE", key, f"({place}".encode(), b"-", b"COUNT", b"8")


def stay(key: bytes) -> Command:
    return (b"EXPIRE", key, ABANDONED)


def unfit(info: Mapping[str, str]) -> str | None:
    """Why this server cannot have the log, if it cannot."""
    if info.get("redis_mode") == "cluster":
        return "The log needs one Redis with its replicas; this one is part of a cluster."
    version = info.get("redis_version", "0.0")
    if tuple(int(part) for part in version.split(".")[:2]) < (6, 2):
        return f"The log needs Redis 6.2 or newer, or Valkey; this one is {version}."
    return None


def is_end(piece: Piece, top: Top) -> bool:
    return piece.kind == "end" and top == piece.at


async def nothing(_: object) -> None:
    """There is nothing to undo when one who reads leaves; but half an exchange would cost all others the line."""
