"""What a model writes is refused unless everything in it is known, and what is run was written by us (R-8.5, 17.9)."""

import re

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from rightseat.plugins.sql.functions import DialectName, StatementRefused
from rightseat.plugins.sql.guard import check_statement, check_tokens
from tests.plugins.sql.hostile import STATEMENTS
from tests.plugins.sql.shop import COLUMNS
from tests.profiles import examples

DIALECTS: tuple[DialectName, ...] = ("sqlite", "postgres", "mysql", "duckdb")
EVERY = [(dialect, name) for dialect in DIALECTS for name in STATEMENTS[dialect]]


@pytest.mark.parametrize(("dialect", "name"), EVERY)
def test_R_8_5_a_hostile_statement_is_refused(dialect: DialectName, name: str) -> None:
    with pytest.raises(StatementRefused):
        check_statement(
            STATEMENTS[dialect][name], COLUMNS, dialect, 100, "shop" if dialect in ("postgres", "mysql") else ""
        )


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
def test_R_8_5_an_ordinary_query_is_allowed(dialect: DialectName, sql: str) -> None:
    assert check_statement(sql, COLUMNS, dialect, 100).startswith("SELECT * FROM (")


def test_R_8_5_the_rewritten_statement_has_a_limit() -> None:
    written = check_statement("select /* a */ ID -- b\n from ORDERS", COLUMNS, "sqlite", 10)

    assert written == (
        'SELECT * FROM (SELECT "ID" FROM (SELECT "id", "customer_id", "amount", "ordered_on" FROM "orders")'
        ' AS "ORDERS" LIMIT 11) AS "result" LIMIT 11'
    )


def test_R_8_5_a_table_may_be_qualified_with_the_bound_schema() -> None:
    assert '"shop"."orders"' in check_statement("SELECT id FROM shop.orders", COLUMNS, "postgres", 10, "shop")
    assert '"shop"."orders"' in check_statement("SELECT id FROM orders", COLUMNS, "postgres", 10, "shop")
    with pytest.raises(StatementRefused, match=r"schema .* cannot be read"):
        check_statement("SELECT id FROM public.orders", COLUMNS, "postgres", 10, "shop")


def test_R_8_5_a_refusal_names_the_cure() -> None:
    with pytest.raises(StatementRefused, match="The tables are: orders, customers"):
        check_statement("SELECT * FROM order_items", COLUMNS, "sqlite", 10)
    with pytest.raises(StatementRefused, match="c has: id, name, region"):
        check_statement("SELECT c.town FROM customers c", COLUMNS, "sqlite", 10)
    with pytest.raises(StatementRefused, match="The function load_extension"):
        check_statement("SELECT load_extension('x')", COLUMNS, "sqlite", 10)


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
def test_R_8_5_string_literals_and_quoted_names_keep_their_meaning(dialect: DialectName, sql: str) -> None:
    try:
        written = check_statement(sql, COLUMNS, dialect, 10)
    except StatementRefused:
        return

    tables = {table.name for table in sqlglot.parse_one(written, dialect=dialect).find_all(exp.Table)}
    assert tables == {"orders"}


@pytest.mark.parametrize(
    "written", ['SELECT "pg_sleep"(1)', "SELECT pg_sleep(1)", "SELECT _x(1)", "SELECT 1; SELECT 2"]
)
def test_R_8_5_the_tokens_of_the_rewritten_statement_are_checked_again(written: str) -> None:
    with pytest.raises(StatementRefused):
        check_tokens(written, "postgres")


TEXT = """
    SELECT FROM WHERE orders customers secrets id name ( ) , ; ' " ` * = -- /* */ UNION WITH AS x 1 DELETE INTO pg_sleep
    sleep . :: @@ $$ \\ ? JOIN ON GROUP BY LIMIT FOR UPDATE
"""
WORDS = st.sampled_from(TEXT.split())


@settings(max_examples=examples(0.5))
@given(st.lists(WORDS, max_size=15).map(" ".join), st.sampled_from(DIALECTS))
def test_R_8_5_any_text_is_allowed_or_refused_without_another_error(sql: str, dialect: DialectName) -> None:
    try:
        written = check_statement(sql, COLUMNS, dialect, 10)
    except StatementRefused:
        return

    assert not re.search(r"FROM [`\"]?secrets", written)
    assert written.startswith("SELECT * FROM (")
