"""One small shop in four databases. Beside what the catalog lists, each has a table and a column that it does not."""

import asyncio
import secrets
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]  # it has no types of its own
import duckdb
import pymysql  # type: ignore[import-untyped]  # it has no types of its own
import pytest

from rightseat.plugins.sql.databases import connect
from rightseat.plugins.sql.dialects import Dialect

POSTGRES = "postgresql://{}@127.0.0.1:5432/test"
COLUMNS = {"orders": ["id", "customer_id", "amount", "ordered_on"], "customers": ["id", "name", "region"]}

SCRIPT = [
    "CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40), region VARCHAR(40), password VARCHAR(40))",
    "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, amount DECIMAL(10, 2), ordered_on DATE)",
    "CREATE TABLE secrets (id INTEGER PRIMARY KEY, word VARCHAR(40))",
    "INSERT INTO customers VALUES (1, 'Ada', 'north', 'hunter2'), (2, 'Ben', 'south', 'letmein')",
    "INSERT INTO orders VALUES (1, 1, 10.50, '2025-01-02'), (2, 1, 20.00, '2025-02-03'), (3, 2, 5.25, '2025-02-04')",
    "INSERT INTO secrets VALUES (1, 'xyzzy')",
]


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[Dialect]:
    with closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.executescript(";\n".join(SCRIPT))
    async with used(connect(f"sqlite://{folder}/shop.sqlite", "")) as engine:
        yield engine


@asynccontextmanager
async def duck(folder: Path) -> AsyncIterator[Dialect]:
    with closing(duckdb.connect(str(folder / "shop.duckdb"))) as connection:
        for statement in SCRIPT:
            connection.execute(statement)
    async with used(connect(f"duckdb://{folder}/shop.duckdb", "")) as engine:
        yield engine


@asynccontextmanager
async def postgres(_: Path) -> AsyncIterator[Dialect]:
    name = f"shop_{secrets.token_hex(6)}"
    try:
        admin = await asyncpg.connect(POSTGRES.format("postgres"))
    except OSError:
        pytest.skip("there is no PostgreSQL on this machine")
    try:
        await admin.execute(f"CREATE SCHEMA {name}; SET search_path = {name}")
        await admin.execute(";\n".join(SCRIPT))
        await admin.execute(f"CREATE ROLE {name} LOGIN; GRANT USAGE ON SCHEMA {name} TO {name}")
        await admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {name}")
        async with used(connect(POSTGRES.format(name), name)) as engine:
            yield engine
    finally:
        await admin.execute(f"DROP SCHEMA {name} CASCADE; DROP ROLE IF EXISTS {name}")
        await admin.close()


@asynccontextmanager
async def mysql(_: Path) -> AsyncIterator[Dialect]:
    name = f"shop_{secrets.token_hex(6)}"
    admin = await asyncio.to_thread(as_root)
    grants = [f"CREATE USER {name}@'127.0.0.1' IDENTIFIED BY 'pass'", f"GRANT SELECT ON {name}.* TO {name}@'127.0.0.1'"]
    try:
        with admin.cursor() as cursor:
            for statement in [f"CREATE DATABASE {name}", f"USE {name}", *SCRIPT, *grants]:
                cursor.execute(statement)
        admin.commit()
        async with used(connect(f"mysql://{name}:pass@127.0.0.1:3306/{name}", "")) as engine:
            yield engine
    finally:
        with admin.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name}")
            cursor.execute(f"DROP USER IF EXISTS {name}@'127.0.0.1'")
        admin.close()


def as_root() -> Any:
    try:
        return pymysql.connect(host="127.0.0.1", user="root")
    except pymysql.MySQLError:
        pytest.skip("there is no MySQL or MariaDB on this machine")


@asynccontextmanager
async def used(engine: Dialect) -> AsyncIterator[Dialect]:
    try:
        yield engine
    finally:
        await engine.aclose()


ENGINES = {"sqlite": sqlite, "postgres": postgres, "mysql": mysql, "duckdb": duck}
