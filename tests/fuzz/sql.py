"""SQL of a model, through the guard of plugins: refused, or written anew as a statement that reads listed columns of
listed tables alone. The engines' own parsers say what it reads: SQLite's authorizer, and DuckDB's list of tables."""

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from random import Random
from typing import Any

import duckdb

from rightseat.plugins.sql.checker import StatementChecker
from rightseat.plugins.sql.functions import CTE_PREFIX, DialectName, StatementRefused
from tests.fuzz.engine import Check, Target
from tests.fuzz.mutation import TEXTS, mutate_text
from tests.plugins.sql.hostile import STATEMENTS
from tests.plugins.sql.shop import COLUMNS, SCRIPT
from tests.plugins.sql.test_guard import GOOD

DIALECTS: tuple[DialectName, ...] = ("sqlite", "postgres", "mysql", "duckdb")
SCHEMAS: dict[DialectName, str] = {"sqlite": "", "postgres": "shop", "mysql": "shop", "duckdb": ""}
READING = {
    sqlite3.SQLITE_SELECT: "select",
    sqlite3.SQLITE_READ: "read",
    sqlite3.SQLITE_FUNCTION: "function",
    sqlite3.SQLITE_RECURSIVE: "recursive",
}
TABLE = re.compile(r'\b(?:FROM|JOIN)\s+(?:"shop"\.|`shop`\.)?["`]([^"`]+)["`]')
WORDS = (
    *("SELECT ", " FROM ", " WHERE ", " JOIN ", " ON ", " GROUP BY ", " HAVING ", " ORDER BY ", " LIMIT ", " OFFSET "),
    *(" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT ", "WITH x AS (", "WITH RECURSIVE ", ")", "(", ",", ";", "*"),
    *(" orders ", " customers ", " secrets ", " password ", " shop.orders ", " main.secrets ", " sqlite_master "),
    *(
        " pg_catalog.pg_user ",
        "information_schema.tables",
        " amount ",
        " id ",
        "o.id",
        "x.*",
        "o.*",
        "count(*)",
        "sum(",
    ),
    *("pg_read_file('/etc/passwd')", "load_extension('x')", "read_csv('/etc/passwd')", "sleep(9)", "now()", "lower("),
    *("CASE WHEN ", " THEN ", " ELSE ", " END ", " AS ", "'", '"', "`", "--", "/*", "*/", "#", "$$", "\\", "::text"),
    *(
        " OVER (PARTITION BY id)",
        " IN (",
        " EXISTS (",
        " BETWEEN 1 AND ",
        " LIKE ",
        " NOT ",
        " NULL ",
        "||",
        "->>",
        "@>",
    ),
    *(
        "INTO OUTFILE '/tmp/x'",
        " FOR UPDATE",
        " LATERAL ",
        "TABLESAMPLE",
        " PIVOT (",
        "VALUES (1)",
        "INSERT INTO ",
        "%",
    ),
    *("x'41'", "0x41", "1e999", "9" * 50, "E'\\n'", "U&'\\0061'", "?", ":name", "@var", "$1", "{fn now()}", "[1, 2]"),
)


def make(random: Random) -> Any:
    dialect = random.choice(DIALECTS)
    kind = random.random()
    if kind < 0.45:
        sql = make_query(random, 3)
    elif kind < 0.75:
        sql = random.choice(GOOD)
    else:
        sql = random.choice(list(STATEMENTS[dialect].values()))
    if random.random() < 0.6:
        sql = mutate_text(random, sql, WORDS if random.random() < 0.85 else TEXTS, most=4)
    return dialect, sql


def make_query(random: Random, depth: int) -> str:
    start = ""
    if depth and random.random() < 0.2:
        inner = make_query(random, depth - 1)
        start = f"WITH {random.choice(('', 'RECURSIVE '))}{random.choice(('x', 'big', 'orders'))} AS ({inner}) "
    columns = ", ".join(make_column(random, depth) for _ in range(random.choice((1, 1, 2, 3, 12))))
    distinct = random.choice(("", "", "DISTINCT ", "ALL "))
    query = f"{start}SELECT {distinct}{columns} FROM {make_table(random, depth)}"  # noqa: S608  # that it is hostile is the point
    for _ in range(random.choice((0, 0, 1, 2, 9))):
        kind = random.choice(("JOIN", "LEFT JOIN", "CROSS JOIN", "NATURAL JOIN", ","))
        on = (
            f" ON {make_value(random, depth)} = {make_value(random, depth)}"
            if "N J" not in kind and kind != ","
            else ""
        )
        query += f" {kind} {make_table(random, depth)}{on}"
    for clause in ("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT"):
        if random.random() < 0.25:
            query += f" {clause} {make_value(random, depth)}"
    if depth and random.random() < 0.15:
        query += f" {random.choice(('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'))} {make_query(random, depth - 1)}"
    return query


def make_table(random: Random, depth: int) -> str:
    if depth and random.random() < 0.2:
        return f"({make_query(random, depth - 1)}) AS {random.choice('abc')}"
    name = random.choice(("orders", "orders", "customers", "customers", "x", "secrets", "shop.orders", '"Orders"'))
    return name + random.choice(("", "", " o", " AS c"))


def make_column(random: Random, depth: int) -> str:
    column = random.choice(("*", "o.*", "id", "name", make_value(random, depth)))
    return column + random.choice(("", "", " AS a", ' AS "b c"'))


def make_value(random: Random, depth: int) -> str:
    simple = ("id", "o.id", "amount", "name", "password", "1", "'a'", "NULL", "count(*)", "ordered_on", "1.5")
    if not depth or random.random() < 0.4:
        return random.choice(simple)
    one, two = make_value(random, depth - 1), make_value(random, depth - 1)
    match random.randrange(8):
        case 0:
            return f"{random.choice(('sum', 'max', 'lower', 'coalesce', 'round', 'sqlite_version', 'version'))}({one})"
        case 1:
            return f"CASE WHEN {one} THEN {two} END"
        case 2:
            return f"({make_query(random, depth - 1)})"
        case 3:
            return f"{one} IN ({make_query(random, depth - 1)})"
        case 4:
            return f"CAST({one} AS {random.choice(('TEXT', 'INTEGER', 'DATE', 'BLOB', 'JSON'))})"
        case 5:
            return f"row_number() OVER (ORDER BY {one})"
        case _:
            return f"({one} {random.choice(('+', '-', '*', '||', '=', '<', 'AND', 'OR', 'LIKE', 'IS'))} {two})"


@asynccontextmanager
async def opened() -> AsyncIterator[Check]:
    checker = StatementChecker()
    with closing(sqlite3.connect(":memory:")) as lite, closing(duckdb.connect(":memory:")) as duck:
        for statement in SCRIPT:
            lite.execute(statement)
            duck.execute(statement)

        async def check(case: Any) -> None:
            dialect, sql = case
            try:
                written = await checker.check(sql, COLUMNS, dialect, 100, SCHEMAS[dialect])
            except StatementRefused:
                return
            check_names(written)
            if dialect == "sqlite":
                check_sqlite(lite, written)
            if dialect == "duckdb":
                check_duckdb(duck, written)

        try:
            yield check
        finally:
            await checker.aclose()


def check_names(written: str) -> None:
    """On the words alone: our form has every name in quotes."""
    bare = re.sub(r"'(?:[^']|'')*'", "''", written)
    assert written.startswith("SELECT * FROM ("), written
    assert ";" not in re.sub(r'"[^"]*"|`[^`]*`', "", bare), written
    for name in TABLE.findall(bare):
        assert name in COLUMNS or name.startswith(CTE_PREFIX), f"{name} is read: {written}"


def check_sqlite(connection: sqlite3.Connection, written: str) -> None:
    seen: list[str] = []

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action not in READING:
            seen.append(f"action {action}")
        elif action == sqlite3.SQLITE_READ and (second or "id") not in COLUMNS.get(first or "", []):
            seen.append(f"{first}.{second}")
        return sqlite3.SQLITE_OK

    connection.set_authorizer(authorize)
    try:
        connection.execute(f"EXPLAIN {written}").close()
    except sqlite3.Error:
        pass  # names that are not there, and functions that want other arguments
    finally:
        connection.set_authorizer(None)
    assert not seen, f"{seen}: {written}"


def check_duckdb(connection: duckdb.DuckDBPyConnection, written: str) -> None:
    try:
        statements = connection.extract_statements(written)
        tables = connection.get_table_names(written)
    except duckdb.Error:
        return
    assert [statement.type for statement in statements] == [duckdb.StatementType.SELECT], written
    assert {name for name in tables if not name.startswith(CTE_PREFIX)} <= set(COLUMNS), f"{tables}: {written}"


TARGETS = (Target("sql", make, opened, tuple((dialect, GOOD[3]) for dialect in DIALECTS), night_cases=400),)
