"""A store as it is after years: the rows that one real run left are multiplied, in whatever tables they are.

No table is named here. A row belongs to the run if one of its texts has the id of the thread or of the run in it; in a copy
those are replaced by others. Owners and times are spread: every tenth thread stays the asker's, the others belong to 1,000 users,
and each is eight seconds older than the one before. Numbers that the database gives are left to it.
"""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import asyncpg

TIMES = {"created_at", "updated_at", "finished_at"}


class Sqlite:
    """All SQLite files of a state folder. The server must be stopped. No ANALYZE: SQLite never makes one by itself, and it changes plans."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _files(self) -> Iterator[sqlite3.Connection]:
        for path in sorted(self.folder.rglob("*.db")):
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA cache_size = -200000")
            try:
                yield connection
            finally:
                connection.close()

    async def multiply(self, thread: str, first: int, last: int) -> None:
        await asyncio.to_thread(self._multiply, thread, first, last)

    def _multiply(self, thread: str, first: int, last: int) -> None:
        run = None
        for db in self._files():
            found = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
            if "runs" in found:
                (run,) = db.execute("SELECT id FROM runs WHERE thread_id = ?", (thread,)).fetchone()
        for db in self._files():
            db.execute("BEGIN")
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
                columns = [(row[1], row[2].upper(), row[5]) for row in db.execute(f'PRAGMA table_info("{name}")')]
                keys = [column for column, _, key in columns if key]
                texts = [column for column, kind, _ in columns if "TEXT" in kind or "CHAR" in kind]
                given = [(column, kind) for column, kind, key in columns if not (key and keys == [column] and "INT" in kind)]
                if not texts:
                    continue
                where = " OR ".join(f'instr("{column}", :thread) OR instr("{column}", :run)' for column in texts)
                db.execute(f'CREATE TEMP TABLE seed AS SELECT * FROM "{name}" WHERE {where}', {"thread": thread, "run": run})
                exprs = ", ".join(self._expression(column, column in texts) for column, _ in given)
                series = "WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)"
                into = ", ".join(f'"{column}"' for column, _ in given)
                values = {"thread": thread, "run": run, "first": first, "last": last}
                db.execute(f'INSERT INTO "{name}" ({into}) {series} SELECT {exprs} FROM n, seed', values)
                db.execute("DROP TABLE temp.seed")
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _expression(self, column: str, is_text: bool) -> str:
        if column == "owner":
            return """CASE WHEN i % 10 = 0 THEN "owner" ELSE 'user' || (i % 1000) END"""
        if column in TIMES and is_text:
            return f"""CASE WHEN "{column}" IS NULL THEN NULL ELSE strftime('%Y-%m-%dT%H:%M:%S.000000Z', 'now', '-' || (8 * i) || ' seconds') END"""
        if is_text:
            return f"""replace(replace("{column}", :thread, printf('seed-%08d', i)), :run, printf('run_seed%08d', i))"""
        return f'"{column}"'

    async def age(self, first: int, last: int) -> None:
        def backdate() -> None:
            for db in self._files():
                if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'threads'").fetchone():
                    db.execute("UPDATE threads SET updated_at = '2020-01-01T00:00:00.000000Z' WHERE id BETWEEN ? AND ?", (f"seed-{first:08d}", f"seed-{last:08d}"))

        await asyncio.to_thread(backdate)

    async def rows(self) -> dict[str, int]:
        return await asyncio.to_thread(self._rows)

    def _rows(self) -> dict[str, int]:
        found = {}
        for path in sorted(self.folder.rglob("*.db")):
            db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
                found[f"{path.stem}.{name}"] = db.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            db.close()
        return found

    async def aged(self) -> int:
        def count() -> int:
            for path in sorted(self.folder.rglob("*.db")):
                db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
                try:
                    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'threads'").fetchone():
                        return db.execute("SELECT count(*) FROM threads WHERE id LIKE 'seed-%' AND updated_at < '2021'").fetchone()[0]
                finally:
                    db.close()
            return 0

        return await asyncio.to_thread(count)

    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.folder.rglob("*.db*"))


class Postgresql:
    def __init__(self, url: str) -> None:
        self.url = url

    async def multiply(self, thread: str, first: int, last: int) -> None:
        db = await asyncpg.connect(self.url)
        try:
            await db.execute("SET session_replication_role = replica")  # the rows come in any order
            await db.execute("SET synchronous_commit = off")
            run = await db.fetchval("SELECT id FROM runs WHERE thread_id = $1", thread)
            for schema, name in await self._tables(db):
                columns = await db.fetch(
                    """SELECT column_name AS name, data_type AS type, is_identity = 'YES' OR coalesce(column_default, '') LIKE 'nextval%' AS counted
                    FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position""",
                    schema, name,
                )  # fmt: skip
                texts = [one["name"] for one in columns if one["type"] in ("text", "character varying")]
                if not texts:
                    continue
                where = " OR ".join(f"strpos(\"{column}\", '{thread}') > 0 OR strpos(\"{column}\", '{run}') > 0" for column in texts)
                if not await db.fetchval(f'SELECT 1 FROM "{schema}"."{name}" WHERE {where} LIMIT 1'):
                    continue
                await db.execute(f'CREATE TEMP TABLE seed AS SELECT * FROM "{schema}"."{name}" WHERE {where}')
                given = [one["name"] for one in columns if not one["counted"]]
                exprs = ", ".join(self._expression(column, column in texts, thread, run) for column in given)
                into = ", ".join(f'"{column}"' for column in given)
                await db.execute(f'INSERT INTO "{schema}"."{name}" ({into}) SELECT {exprs} FROM generate_series({first}, {last}) AS i, seed', timeout=900)
                await db.execute("DROP TABLE seed")
            await db.execute("ANALYZE", timeout=300)
            await db.execute("CHECKPOINT", timeout=300)
        finally:
            await db.close()

    async def _tables(self, db: asyncpg.Connection) -> list[tuple[str, str]]:
        return [tuple(row) for row in await db.fetch("SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2")]

    def _expression(self, column: str, is_text: bool, thread: str, run: str) -> str:
        if column == "owner":
            return """CASE WHEN i % 10 = 0 THEN "owner" ELSE 'user' || (i % 1000) END"""
        if column in TIMES and is_text:
            return f"""CASE WHEN "{column}" IS NULL THEN NULL ELSE to_char((now() - i * interval '8 seconds') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END"""
        if is_text:
            return f"""replace(replace("{column}", '{thread}', 'seed-' || lpad(i::text, 8, '0')), '{run}', 'run_seed' || lpad(i::text, 8, '0'))"""
        return f'"{column}"'

    async def _one(self, query: str, *values: object) -> object:
        db = await asyncpg.connect(self.url)
        try:
            return await db.fetchval(query, *values)
        finally:
            await db.close()

    async def age(self, first: int, last: int) -> None:
        await self._one("UPDATE threads SET updated_at = '2020-01-01T00:00:00.000000Z' WHERE id BETWEEN $1 AND $2", f"seed-{first:08d}", f"seed-{last:08d}")

    async def aged(self) -> int:
        return await self._one("SELECT count(*) FROM threads WHERE id LIKE 'seed-%' AND updated_at < '2021'")

    async def rows(self) -> dict[str, int]:
        db = await asyncpg.connect(self.url)
        try:
            return {f"{schema}.{name}": await db.fetchval(f'SELECT count(*) FROM "{schema}"."{name}"') for schema, name in await self._tables(db)}
        finally:
            await db.close()
