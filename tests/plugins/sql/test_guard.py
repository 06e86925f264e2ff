"""What a model writes is refused unless everything in it is known, and what is run was written by us (R-8.5, 17.9)."""

import re

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from rightseat.plugins.sql.allowed import Dialect, Refused
from rightseat.plugins.sql.guard import check_words, guard
from tests.plugins.sql.hostile import STATEMENTS
from tests.plugins.sql.shop import COLUMNS

DIALECTS: tuple[Dialect, ...] = ("sqlite", "postgres", "mysql", "duckdb")
EVERY = [(dialect, name) for dialect in DIALECTS for name in STATEMENTS[dialect]]


@pytest.mark.parametrize(("dialect", "name"), EVERY)
def test_R_8_5_a_hostile_statement_is_refused(dialect: Dialect, name: str) -> None:
    with pytest.raises(Refused):
        guard(STATEMENTS[dialect][name], COLUMNS, dialect, 100, "shop" if dialect in ("postgres", "mysql") else "")


def test_R_8_5_there_are_more_than_28_hostile_statements_for_each_dialect() -> None:
    assert min(len(STATEMENTS[dialect]) for dialect in DIALECTS) >= 75


GOOD = [
    "SELECT * FROM orders",
    "SELECT count(*) FROM orders",
    "SELECT o.id, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.region = 'north'",
    "SELECT region, sum(amount) AS total FROM orders JOIN customers ON customers.id = customer_id GROUP BY region"
    " HAVING sum(amount) > 1 ORDER BY total DESC LIMIT 3",
    "WITH big AS (SELECT * FROM orders WHERE amount > 6) SELECT big.id, amount FROM big ORDER BY 1",
    "SELECT id FROM orders UNION SELECT id FROM customers ORDER BY 1",
    "SELECT id, CASE WHEN amount > 6 THEN 'big' ELSE 'small' END AS size FROM orders",
    "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id AND o.amount > 6)",
    "SELECT id, row_number() OVER (PARTITION BY customer_id ORDER BY amount) AS place FROM orders",
    "SELECT upper(name), coalesce(region, '-'), length(name), round(1.25, 1) FROM customers;",
    "WITH t(a, b) AS (SELECT id, amount FROM orders) SELECT a, b FROM t",
    "SELECT CAST(amount AS INTEGER) AS whole FROM orders WHERE ordered_on BETWEEN '2025-01-01' AND '2025-12-31'",
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", GOOD)
def test_R_8_5_an_ordinary_query_is_let_through(dialect: Dialect, sql: str) -> None:
    assert guard(sql, COLUMNS, dialect, 100).startswith("SELECT * FROM (")


def test_R_8_5_what_is_run_was_written_anew_and_has_a_limit() -> None:
    written = guard("select /* a */ ID -- b\n from ORDERS", COLUMNS, "sqlite", 10)

    assert written == (
        'SELECT * FROM (SELECT "ID" FROM (SELECT "id", "customer_id", "amount", "ordered_on" FROM "orders")'
        ' AS "ORDERS" LIMIT 11) AS "result" LIMIT 11'
    )


def test_R_8_5_a_table_may_be_written_with_the_schema_that_is_bound() -> None:
    assert '"shop"."orders"' in guard("SELECT id FROM shop.orders", COLUMNS, "postgres", 10, "shop")
    assert '"shop"."orders"' in guard("SELECT id FROM orders", COLUMNS, "postgres", 10, "shop")
    with pytest.raises(Refused, match="no schema"):
        guard("SELECT id FROM public.orders", COLUMNS, "postgres", 10, "shop")


def test_R_8_5_a_refusal_says_what_would_be_right() -> None:
    with pytest.raises(Refused, match="The tables are: orders, customers"):
        guard("SELECT * FROM order_items", COLUMNS, "sqlite", 10)
    with pytest.raises(Refused, match="c has: id, name, region"):
        guard("SELECT c.town FROM customers c", COLUMNS, "sqlite", 10)
    with pytest.raises(Refused, match="The function load_extension"):
        guard("SELECT load_extension('x')", COLUMNS, "sqlite", 10)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'x FROM secrets --' AS a FROM orders",
        "SELECT EXTRACT('year FROM ordered_on) FROM secrets --' FROM ordered_on) FROM orders",
        "SELECT ordered_on + INTERVAL '1' \"day FROM secrets --\" FROM orders",
        "SELECT id FROM orders WHERE 'a' = 'b'' UNION SELECT word FROM secrets --'",
        'SELECT id AS "a FROM secrets --" FROM orders',
    ],
)
def test_R_8_5_what_is_a_text_or_a_name_stays_one(dialect: Dialect, sql: str) -> None:
    try:
        written = guard(sql, COLUMNS, dialect, 10)
    except Refused:
        return

    tables = {table.name for table in sqlglot.parse_one(written, dialect=dialect).find_all(exp.Table)}
    assert tables == {"orders"}


@pytest.mark.parametrize(
    "written", ['SELECT "pg_sleep"(1)', "SELECT pg_sleep(1)", "SELECT _x(1)", "SELECT 1; SELECT 2"]
)
def test_R_8_5_the_words_of_what_is_run_are_judged_by_themselves(written: str) -> None:
    with pytest.raises(Refused):
        check_words(written, "postgres")


TEXT = """
    SELECT FROM WHERE orders customers secrets id name ( ) , ; ' " ` * = -- /* */ UNION WITH AS x 1 DELETE INTO pg_sleep
    sleep . :: @@ $$ \\ ? JOIN ON GROUP BY LIMIT FOR UPDATE
"""
WORDS = st.sampled_from(TEXT.split())


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, max_size=15).map(" ".join), st.sampled_from(DIALECTS))
def test_R_8_5_whatever_is_written_is_let_through_or_refused(sql: str, dialect: Dialect) -> None:
    try:
        written = guard(sql, COLUMNS, dialect, 10)
    except Refused:
        return

    assert not re.search(r"FROM [`\"]?secrets", written)
    assert written.startswith("SELECT * FROM (")
