"""What is asked of PostgreSQL: every statement, and what its answers mean.

A batch is one statement. It locks the rows of its runs (FOR SHARE) while it looks at their epochs, and whoever takes a
run over changes that row: so a stale writer's pieces are either there before the fence, or never.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own

from rightseat.core.errors import ConfigError, EntriesGone, RunExists, RunNotFound, StaleWriter
from rightseat.core.log import Position
from rightseat.logs.keeper import Away, Claim, Top
from rightseat.logs.pieces import MADE, START, Kind, Page, Piece, last_said
from rightseat.logs.postgres.hearing import PostgresEar, sign
from rightseat.logs.postgres.schema import upgrade

PAGE = 200  # pieces that are read at once
ANSWER = 5.0  # seconds to wait for one
CONNECT = 2.0
CONNECTIONS = 4  # beside those that listen
ROUNDS = 100  # of a hundred runs, each time that house is kept
MANY = 400  # runs that one notification can name; of more than that it says nothing, and everyone looks

APPEND = """
WITH said AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
        AS said(id, epoch, seq, kind, content)
), runs AS MATERIALIZED (
    SELECT key, id, epoch FROM log_runs WHERE id = ANY($1::text[]) FOR SHARE
), kept AS (
    INSERT INTO log_pieces (run, epoch, seq, kind, content)
    SELECT runs.key, said.epoch, said.seq, said.kind, said.content FROM said JOIN runs USING (id, epoch)
    ON CONFLICT DO NOTHING
)
SELECT runs.id, runs.epoch, pg_notify($6, $7) FROM runs
"""
END = "UPDATE log_runs SET ended_at = now() WHERE id = $1 AND epoch = $2"
CREATE = "INSERT INTO log_runs (id, epoch) VALUES ($1, 0) ON CONFLICT DO NOTHING RETURNING key"
ADD = "INSERT INTO log_pieces (run, epoch, seq, kind, content) VALUES ($1, $2, $3, $4, $5)"
OWNER = "SELECT key, epoch FROM log_runs WHERE id = $1 FOR UPDATE"
TAKE = "UPDATE log_runs SET epoch = $2, ended_at = NULL WHERE key = $1"
MARK = "SELECT content FROM log_pieces WHERE run = $1 AND epoch = $2 AND seq = $3"
BEFORE = """
SELECT epoch, seq, kind, content FROM log_pieces WHERE run = $1 AND (epoch, seq) < ($2, $3)
ORDER BY epoch DESC, seq DESC LIMIT 8
"""
TOPS = """
SELECT top.epoch, top.seq FROM unnest($1::text[]) WITH ORDINALITY AS asked(id, number)
LEFT JOIN log_runs AS runs ON runs.id = asked.id
LEFT JOIN LATERAL (
    SELECT epoch, seq FROM log_pieces WHERE run = runs.key ORDER BY epoch DESC, seq DESC LIMIT 1
) AS top ON true
ORDER BY asked.number
"""
READ = """
SELECT pieces.epoch, pieces.seq, pieces.kind, pieces.content
FROM log_runs AS runs JOIN log_pieces AS pieces ON pieces.run = runs.key
WHERE runs.id = $1 AND (pieces.epoch, pieces.seq) > ($2, $3) ORDER BY pieces.epoch, pieces.seq LIMIT $4
"""
FORGET = "DELETE FROM log_runs WHERE id = ANY($1::text[]) RETURNING key"
# A statement of its own: it also sees the pieces of a writer that the first one waited for.
FORGET_PIECES = "DELETE FROM log_pieces WHERE run = ANY($1::bigint[])"
EXPIRE = """
WITH due AS (
    SELECT key FROM log_runs WHERE ended_at < now() - make_interval(secs => $1) LIMIT 100 FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM log_runs USING due WHERE log_runs.key = due.key RETURNING log_runs.key
)
DELETE FROM log_pieces USING gone WHERE run = gone.key
"""


class PostgresKeeper:
    most = 100_000  # it is told which runs have news, and looks at those alone

    def __init__(self, url: str, *, keep: float) -> None:
        self._url = read_url(url)
        self._keep = keep
        self._channel = ""

    async def open(self) -> None:
        try:
            self._pool = await asyncpg.create_pool(
                self._url, min_size=1, max_size=CONNECTIONS, timeout=CONNECT, command_timeout=ANSWER
            )
            await self._set_up()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            said = str(error).rstrip(".")
            raise ConfigError(f"The database of the log cannot be used: {said}. Is its `url` right?") from error

    async def _set_up(self) -> None:
        try:
            async with self._pool.acquire() as connection:
                await upgrade(connection)
                oid = await connection.fetchval("SELECT 'log_runs'::regclass::oid::bigint")
        except BaseException:
            await self.close()
            raise
        self._channel = f"rightseat_log_{oid}"  # the same for all who share the tables, whatever they are called

    async def close(self) -> None:
        self._pool.terminate()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        try:
            async with self._pool.acquire(timeout=ANSWER) as connection:
                yield connection
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
            raise Away(str(error) or type(error).__name__) from error

    # Writing

    async def create(self, run_id: str, mark: bytes) -> None:
        async with self._connection() as connection, connection.transaction():
            if key := await connection.fetchval(CREATE, run_id):
                await connection.execute(ADD, key, *MADE, "made", mark.decode())
                return
            found = await connection.fetchrow(OWNER, run_id)
            if found and await connection.fetchval(MARK, found["key"], *MADE) != mark.decode():
                raise RunExists(run_id)

    async def claim(self, run_id: str, epoch: int, base: int | None, mark: bytes) -> Claim:
        fence = Position(epoch, base or 0)
        async with self._connection() as connection, connection.transaction():
            if base is not None:
                await connection.execute(CREATE, run_id)
            found = await connection.fetchrow(OWNER, run_id)
            if found is None:
                raise RunNotFound(run_id)
            key, current = found
            if epoch <= current and await connection.fetchval(MARK, key, *fence) != mark.decode():
                raise StaleWriter(run_id, epoch, current)
            if epoch > current:
                await connection.execute(TAKE, key, epoch)
                await connection.execute(ADD, key, *fence, "fence" if base is None else "base", mark.decode())
                await connection.execute("SELECT pg_notify($1, $2)", self._channel, sign(run_id))
            return Claim(fence, fence if base is not None else await last_before(connection, key, fence))

    async def append(self, pieces: Sequence[tuple[str, Piece]]) -> Sequence[Top]:
        ids = [run_id for run_id, _ in pieces]
        told = ",".join(map(sign, ids)) if len(ids) <= MANY else ""
        said = (
            ids,
            [piece.at.epoch for _, piece in pieces],
            [piece.at.seq for _, piece in pieces],
            [piece.kind for _, piece in pieces],
            [piece.content.decode() for _, piece in pieces],
        )
        ended = [(run_id, piece.at.epoch) for run_id, piece in pieces if piece.kind == "end"]
        async with self._connection() as connection:
            if ended:
                async with connection.transaction():
                    await connection.executemany(END, ended)
                    rows = await connection.fetch(APPEND, *said, self._channel, told)
            else:
                rows = await connection.fetch(APPEND, *said, self._channel, told)
        epochs = {run_id: epoch for run_id, epoch, _ in rows}
        return [top_of(piece, epochs.get(run_id)) for run_id, piece in pieces]

    async def tops(self, run_ids: Sequence[str]) -> Sequence[Top]:
        async with self._connection() as connection:
            rows = await connection.fetch(TOPS, run_ids)
        return [None if epoch is None else Position(epoch, seq) for epoch, seq in rows]

    # Reading

    async def read(self, run_id: str, after: Position) -> Page:
        async with self._connection() as connection:
            rows = await connection.fetch(READ, run_id, *after, PAGE)
        if not rows:
            [top] = await self.tops([run_id])
            if top is None:
                raise RunNotFound(run_id)
            if top < after:
                raise EntriesGone(run_id, str(top))
        return Page([read_piece(row) for row in rows], len(rows) < PAGE)

    def ear(self) -> PostgresEar:
        async def connect() -> Any:
            return await asyncpg.connect(self._url, timeout=CONNECT, command_timeout=ANSWER)

        return PostgresEar(connect, self._channel, read_piece)

    # Forgetting

    async def forget(self, run_ids: Sequence[str]) -> None:
        async with self._connection() as connection, connection.transaction():
            gone = [key for (key,) in await connection.fetch(FORGET, run_ids)]
            await connection.execute(FORGET_PIECES, gone)

    async def keep_house(self, live: Sequence[str]) -> None:
        """By the database's clock; several may do it at once."""
        async with self._connection() as connection:
            for _ in range(ROUNDS):
                if await connection.execute(EXPIRE, self._keep) == "DELETE 0":
                    return


async def last_before(connection: Any, key: int, before: Position) -> Position:
    """Usually one step back; more where writers came and said nothing."""
    while True:
        pieces = [read_piece(row) for row in await connection.fetch(BEFORE, key, *before)]
        if said := last_said(pieces):
            return said
        if not pieces:
            return START
        before = pieces[-1].at


def top_of(piece: Piece, epoch: int | None) -> Top:
    if epoch is None:
        return None
    return piece.at if epoch == piece.at.epoch else Position(epoch, 0)


def read_piece(row: Sequence[Any]) -> Piece:
    epoch, seq, kind, content = row
    return Piece(Position(epoch, seq), cast(Kind, kind), content.encode())


def read_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme not in ("postgresql", "postgres", "postgresql+asyncpg") or not rest:
        raise ConfigError("The `url` of the log should be like postgresql://user:password@host/name.")
    return f"postgresql://{rest}"
