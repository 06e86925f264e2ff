"""A statement that is larger than any question needs is refused, with the bound that it exceeds."""
# ruff: noqa: S608 (statements that are never run)

import pytest

from rightseat.plugins.sql.functions import DialectName, StatementRefused
from rightseat.plugins.sql.guard import check_statement
from tests.plugins.sql.shop import COLUMNS

DIALECTS: tuple[DialectName, ...] = ("sqlite", "postgres", "mysql", "duckdb")


def tables(count: int) -> str:
    return "orders t0" + "".join(f", orders t{number}" for number in range(1, count))


def doubled(times: int) -> str:
    parts = (f", c{number + 1} AS (SELECT a.id FROM c{number} a, c{number} b)" for number in range(times))
    return f"WITH c0 AS (SELECT id FROM orders){''.join(parts)} SELECT * FROM c{times}"


TOO_LARGE = {
    "SELECT id FROM orders" + " " * 10_000: r"10,021 characters; at most 10,000",
    f"SELECT {','.join(['*'] * 4000)} FROM orders": r"4,000 stars; at most 50",
    f"SELECT {','.join(['t0.*'] * 60)} FROM {tables(3)}": r"60 stars; at most 50",
    f"SELECT t0.id FROM {tables(400)}": r"400 tables; at most 100",
    doubled(18): r"262,144 tables, counting each WITH once per use; at most 100",
    f"SELECT 1{'+1' * 4500} FROM orders": r"4,502 levels of nesting; at most 200",
    f"SELECT {'(' * 4000}1{')' * 4000}": r"nested too deeply; at most 200",
    f"SELECT {'CAST(' * 700}1{' AS INT)' * 700}": r"nested too deeply; at most 200",
    f"SELECT id FROM orders WHERE id IN ({','.join(['1'] * 4500)})": r"words and names; at most 4,000",
    f"SELECT {','.join(['*'] * 40)} FROM {tables(20)}": r"columns in its result; at most 1,000",
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", TOO_LARGE, ids=range(len(TOO_LARGE)))
def test_a_statement_over_a_limit_is_refused_with_the_limit(dialect: DialectName, sql: str) -> None:
    with pytest.raises(StatementRefused, match=TOO_LARGE[sql]):
        check_statement(sql, COLUMNS, dialect, 100)


def test_nested_casts_of_postgres_count_as_depth() -> None:
    with pytest.raises(StatementRefused, match="1,902 levels of nesting; at most 200"):
        check_statement(f"SELECT 1{'::int' * 1900} FROM orders", COLUMNS, "postgres", 100)


def test_the_rewritten_statement_has_a_size_limit() -> None:
    wide = {"orders": [f"a_column_with_a_long_name_{number}" for number in range(900)]}

    with pytest.raises(StatementRefused, match="characters after rewriting; at most 200,000"):
        check_statement(f"SELECT t0.a_column_with_a_long_name_1 FROM {tables(50)}", wide, "sqlite", 100)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT t0.id FROM {tables(90)}",
        doubled(6),
        f"SELECT {', '.join(['count(*)'] * 80)} FROM orders",
        f"SELECT id FROM orders WHERE {' OR '.join(['id = 1'] * 150)}",
        f"SELECT id FROM orders WHERE id IN ({','.join(['1'] * 3000)})",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n",
    ],
    ids=range(6),
)
def test_a_large_statement_within_the_limits_is_allowed(dialect: DialectName, sql: str) -> None:
    assert check_statement(sql, COLUMNS, dialect, 100).startswith("SELECT * FROM (")
