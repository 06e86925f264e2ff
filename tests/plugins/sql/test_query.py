"""From a question to rows, with the databases that plugins bring and those that an operator binds."""

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Identity, Plugin, PluginDatabase, PluginTexts, Step
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.results import StepFailed, StepResult, StepUsage
from rightseat.plugins.scope import Scope
from rightseat.plugins.sql import catalog
from rightseat.plugins.sql.databases import Binding, Databases
from rightseat.plugins.sql.query import run_query
from rightseat.plugins.sql.rows import make_unique, to_json_value

pytestmark = pytest.mark.whole

CATALOG = """
tables:
  orders:
    description: one row for each order
    columns: {id: the number, region: where, amount: in euros}
    values: {region: [north, south]}
joins: [orders.region = regions.name]
rules: [Revenue is the sum of amount.]
examples: [{question: "How much?", sql: SELECT sum(amount) FROM orders}]
"""
SCRIPT = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, region TEXT, amount NUMERIC, margin NUMERIC, picture BLOB);
INSERT INTO orders VALUES (1, 'north', 10, 3, NULL), (2, 'south', 20, 4, NULL), (3, 'north', 5, 1, x'00ff');
CREATE VIEW regions AS SELECT DISTINCT region AS name FROM orders;
CREATE INDEX by_region ON orders (region);
"""


class Script:
    """A model caller that returns scripted responses and records its requests."""

    def __init__(self, *replies: JsonValue) -> None:
        self.replies = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
        self.asked: list[ModelRequest] = []

    async def call(self, wanted: ModelRequest) -> ModelResponse:
        self.asked.append(wanted)
        return ModelResponse(self.replies.pop(0), StepUsage(10, 2))


def sql(statement: str) -> JsonValue:
    return {"sql": statement, "explanation": "as asked"}


def make(folder: Path, script: str = SCRIPT, catalog: str | None = CATALOG, **more: Any) -> Plugin:
    folder.mkdir(exist_ok=True)
    (folder / "shop.sql").write_text(script)
    if catalog is not None:
        (folder / "catalog.yaml").write_text(catalog)
    database = PluginDatabase("shop", "a shop", Path("catalog.yaml") if catalog else None, Path("shop.sql"))
    identity = Identity("shop_plugin", "1.0.0", "d1")
    return Plugin(identity, folder, PluginTexts("Shop", "A shop."), databases={"shop": database}, **more)


@pytest.fixture
async def databases(tmp_path: Path) -> AsyncIterator[Databases]:
    async with Databases(tmp_path / "state") as databases:
        yield databases


async def run(
    plugin: Plugin, databases: Databases, *replies: JsonValue, **params: JsonValue
) -> tuple[StepResult, list[ModelRequest]]:
    script = Script(*replies)
    result = await run_query(plugin, Step("start", "sql", params), Scope("How much in the north?"), script, databases)
    return result, script.asked


async def test_R_8_8_rows_are_objects_and_the_statement_is_kept(databases: Databases, tmp_path: Path) -> None:
    plugin = make(tmp_path / "plugin")

    result, asked = await run(plugin, databases, sql("SELECT region, sum(amount) AS total FROM orders GROUP BY 1"))

    assert result.output == [{"region": "north", "total": 15}, {"region": "south", "total": 20}]
    assert (result.message, result.usage.input_tokens) == ("2 rows", 10)
    assert str(result.record["sql"]).startswith('SELECT * FROM (SELECT "region", SUM("amount")')
    assert len(asked) == 1


async def test_R_8_4_the_model_receives_catalog_dialect_date_and_question(databases: Databases, tmp_path: Path) -> None:
    script = Script(sql("SELECT id FROM orders"))
    scope = Scope("How much in the north?", time=datetime.fromisoformat("2025-03-04T05:06:07+01:00"))

    await run_query(make(tmp_path / "plugin"), Step("start", "sql"), scope, script, databases)

    (asked,) = script.asked
    assert "SQLite" in asked.system
    assert "Table orders: one row for each order" in asked.system
    assert "One of: north, south." in asked.system
    assert "Revenue is the sum of amount." in asked.system
    assert "SELECT sum(amount) FROM orders" in asked.system
    assert "margin" not in asked.system
    assert "2025-03-04" in asked.user
    assert "How much in the north?" in asked.user
    assert asked.schema is not None
    assert asked.schema["required"] == ["sql", "explanation"]


async def test_R_8_4_a_large_catalog_is_shortened_to_what_the_question_needs(
    databases: Databases, tmp_path: Path
) -> None:
    wide = ", ".join(f"c{number}: {'x' * 90}" for number in range(20))
    more = "".join(f"  t{number}:\n    columns: {{{wide}}}\n" for number in range(40))
    plugin = make(tmp_path / "plugin", catalog=CATALOG.replace("tables:\n", f"tables:\n{more}"))

    result, asked = await run(plugin, databases, sql("SELECT id FROM orders"))

    assert "Table orders: one row for each order" in asked[0].system
    assert len(asked[0].system) < 20_000
    assert "Further tables, not shown here: " in asked[0].system
    assert len(result.record["tables_not_shown"]) > 20  # type: ignore[arg-type]  # a list


@pytest.mark.serial
async def test_a_long_question_does_not_slow_down_the_choice_of_tables() -> None:
    tables = {f"t{number}": catalog.CatalogTable({"region": "where it is"}) for number in range(50)}
    started = time.monotonic()

    catalog.describe(catalog.Catalog(tables), "wörd " * 80_000, 12_000)

    assert time.monotonic() - started < 1


async def test_R_8_7_a_statement_over_a_limit_is_returned_to_the_model_shortened_with_the_limit(
    databases: Databases, tmp_path: Path
) -> None:
    many = "SELECT " + ",".join(["*"] * 4000) + " FROM orders"  # noqa: S608

    result, asked = await run(make(tmp_path / "plugin"), databases, sql(many), sql("SELECT id FROM orders"))

    assert len(result.output) == 3  # type: ignore[arg-type]  # a list
    assert "4,000 stars; at most 50 are allowed" in asked[1].user
    assert "(8,018 characters)" in asked[1].user
    assert len(asked[1].user) < 3_000


async def test_R_8_3_a_changed_catalog_is_read_again(databases: Databases, tmp_path: Path) -> None:
    plugin = make(tmp_path / "plugin")
    before = (await databases.find(plugin, None)).catalog
    assert (await databases.find(plugin, None)).catalog is before

    (plugin.folder / "catalog.yaml").write_text("tables: {orders: {columns: {id: the number}}}")

    assert (await databases.find(plugin, None)).catalog.columns() == {"orders": ("id",)}


async def test_R_8_7_a_refused_statement_is_returned_to_the_model_with_the_reason(
    databases: Databases, tmp_path: Path
) -> None:
    plugin = make(tmp_path / "plugin")

    result, asked = await run(plugin, databases, sql("DELETE FROM orders"), "no JSON", sql("SELECT id FROM orders"))

    assert len(result.output) == 3  # type: ignore[arg-type]  # a list
    assert "Only SELECT is allowed; this is DELETE." in asked[1].user
    assert "DELETE FROM orders" in asked[2].user
    assert len(result.record["refused"]) == 2  # type: ignore[arg-type]  # a list


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("SELECT name FROM sqlite_master", "sql_refused"),
        ("SELECT id FROM orders WHERE id = (SELECT id, region FROM orders)", "sql_failed"),
    ],
)
async def test_R_8_7_after_two_repairs_the_step_fails(
    databases: Databases, tmp_path: Path, statement: str, code: str
) -> None:
    script = Script(*[sql(statement)] * 4)

    with pytest.raises(StepFailed) as failed:
        await run_query(make(tmp_path / "plugin"), Step("start", "sql"), Scope("?"), script, databases)

    assert failed.value.code == code
    assert len(script.asked) == 3


async def test_R_8_8_rows_over_the_limit_are_cut_with_a_note(databases: Databases, tmp_path: Path) -> None:
    result, _ = await run(make(tmp_path / "plugin"), databases, sql("SELECT id FROM orders ORDER BY id"), max_rows=2)

    assert result.output == [{"id": 1}, {"id": 2}]
    assert result.message == "the first 2 rows; there are more."


async def test_R_8_9_no_rows_are_a_success(databases: Databases, tmp_path: Path) -> None:
    result, _ = await run(make(tmp_path / "plugin"), databases, sql("SELECT id FROM orders WHERE id > 99"))

    assert (result.output, result.message) == ([], "0 rows")


def test_R_8_8_results_have_a_byte_limit_and_R_8_9_duplicate_names_are_numbered() -> None:
    assert to_json_value(b"\x00\xff") == "<2 bytes>"
    assert to_json_value(datetime(2025, 1, 2, 3, 4)) == "2025-01-02T03:04:00"
    assert make_unique(["a", "b", "a", "a:1", "a_2"]) == ["a", "b", "a_2", "a_3", "a_2_2"]


async def test_R_8_1_the_only_database_is_the_default(databases: Databases, tmp_path: Path) -> None:
    plugin = make(tmp_path / "plugin")
    assert (await databases.find(plugin, None)).name == "shop"

    two = replace(plugin, databases={**plugin.databases, "other": PluginDatabase("other")})
    with pytest.raises(StepFailed, match=r"not exactly one database\. It has: shop, other"):
        await databases.find(two, None)
    with pytest.raises(StepFailed, match=r"no database 'stock'\. It has: shop"):
        await databases.find(plugin, "stock")


async def test_R_8_1_R_8_2_an_operator_binds_a_database_to_a_name(tmp_path: Path) -> None:
    plugin = make(tmp_path / "plugin")
    named = replace(plugin, databases={"live": PluginDatabase("live", catalog=Path("catalog.yaml"))})
    with closing(sqlite3.connect(tmp_path / "live.sqlite")) as connection:
        connection.executescript("CREATE TABLE orders (id, region, amount); INSERT INTO orders VALUES (7, 'x', 1)")
    bound = {"shop_plugin": {"live": Binding(url=SecretStr(f"sqlite://{tmp_path}/live.sqlite"))}}

    async with Databases(tmp_path / "state", bound) as databases:
        result, _ = await run(named, databases, sql("SELECT id FROM orders"), database="live")
    async with Databases(tmp_path / "state") as databases:
        with pytest.raises(StepFailed, match=r"The database live of the plugin .* is not configured"):
            await databases.find(named, "live")

    assert result.output == [{"id": 7}]


async def test_R_8_2_the_script_is_run_once_into_a_read_only_file(tmp_path: Path) -> None:
    plugin = make(tmp_path / "plugin")
    async with Databases(tmp_path / "state") as databases:
        await run(plugin, databases, sql("SELECT id FROM orders"))
    (file,) = list((tmp_path / "state" / "databases").iterdir())
    made = file.stat()

    async with Databases(tmp_path / "state") as databases:
        results = await asyncio.gather(*(run(plugin, databases, sql("SELECT id FROM orders")) for _ in range(3)))

    assert [len(result.output) for result, _ in results] == [3, 3, 3]  # type: ignore[arg-type]  # lists
    assert (file.stat().st_mtime_ns, file.stat().st_mode & 0o777) == (made.st_mtime_ns, 0o400)


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH DATABASE 'loot.db' AS loot",
        "PRAGMA writable_schema = on",
        "CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT 1; END",
        "UPDATE orders SET amount = 0",
        "DELETE FROM orders",
        "DROP TABLE orders",
        "ALTER TABLE orders RENAME TO loot",
        "VACUUM INTO 'loot.db'",
        "CREATE VIRTUAL TABLE v USING fts5(x)",
        "CREATE TEMP TABLE t (x)",
        "INSERT INTO orders (id) VALUES (1) ON CONFLICT DO UPDATE SET amount = 0",
        "SELECT load_extension('x')",
        "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 0, 'x')",
        "UPDATE sqlite_master SET sql = ''",
        "INSERT INTO orders (picture) VALUES (randomblob(10))",
        "DETACH main",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " INSERT INTO orders (amount) SELECT max(i) FROM n",
    ],
)
async def test_R_8_2_a_script_may_only_create_and_insert(
    tmp_path: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightseat.plugins.sql.dialects.files.BUILD_TIMEOUT_S", 3.0)
    plugin = make(tmp_path / "plugin", SCRIPT + statement)

    async with Databases(tmp_path / "state") as databases:
        with pytest.raises(StepFailed, match=r"shop\.sql of the database shop failed"):
            await databases.find(plugin, None)

    assert names(tmp_path) == {"plugin", "shop.sql", "catalog.yaml"}


async def test_R_8_3_a_missing_catalog_is_drafted_and_used_once_the_database_is_bound(tmp_path: Path) -> None:
    plugin = make(tmp_path / "plugin", catalog=None)
    async with Databases(tmp_path / "state") as databases:
        with pytest.raises(StepFailed, match="has no catalog"):
            await databases.find(plugin, None)
        drafted = await databases.draft(plugin)
    (tmp_path / "approved.yaml").write_text(drafted)
    bound = {"shop_plugin": {"shop": Binding(catalog=tmp_path / "approved.yaml")}}

    async with Databases(tmp_path / "state", bound) as databases:
        result, _ = await run(plugin, databases, sql("SELECT name FROM regions ORDER BY 1"))

    assert "margin: numeric" in drafted
    assert result.output == [{"name": "north"}, {"name": "south"}]


async def test_R_8_3_tables_and_columns_outside_the_catalog_are_unknown(databases: Databases, tmp_path: Path) -> None:
    plugin = make(tmp_path / "plugin")

    result, _ = await run(
        plugin, databases, sql("SELECT margin FROM orders"), sql("SELECT * FROM regions"), sql("SELECT * FROM orders")
    )

    output: Any = result.output
    assert [*output[0]] == ["id", "region", "amount"]


@pytest.mark.parametrize("text", ["tables: 3", "tables: {a: {columns: {x: &a y, z: *a}}}", "{", "tables: {}\nurl: x"])
async def test_R_8_3_an_invalid_catalog_is_reported(databases: Databases, tmp_path: Path, text: str) -> None:
    with pytest.raises(StepFailed, match=r"The catalog catalog\.yaml cannot be used"):
        await databases.find(make(tmp_path / "plugin", catalog=text), None)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}
