"""SQL over data, in a process of its own that cannot be abused."""

# ruff: noqa: S608  # names of tables are put into SQL: that is what they are for

import asyncio
import gc
import json
import re
import resource
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.errors import BadQuery, UnreadableFile
from rightseat.core.types import JsonValue
from rightseat.data.tables import CsvText, JsonText, Rows, TableLimits, Tables, describe_table, write_result
from rightseat.data.values import Sheet
from tests.conditions import settle

pytestmark = pytest.mark.whole

PRICES: list[dict[str, JsonValue]] = [
    {"symbol": "AAPL", "day": "2024-10-15", "close": 233.85, "volume": "61901688"},
    {"symbol": "MSFT", "day": "2024-10-14", "close": 418.74, "volume": "N/A"},
]


@pytest.fixture
async def tables() -> AsyncIterator[Tables]:
    async with Tables(TableLimits(query=30.0, load_timeout=120.0)) as tables:
        yield tables


async def test_rows_are_asked_by_sql(tables: Tables) -> None:
    table = await tables.add("Historical Prices!", Rows(PRICES))

    answer = await tables.query("SELECT symbol, close FROM historical_prices WHERE day > DATE '2024-10-14'")

    assert (table.name, table.rows) == ("historical_prices", 2)
    assert (answer.columns, answer.rows, answer.total) == (("symbol", "close"), [["AAPL", 233.85]], 1)


async def test_a_table_knows_its_columns(tables: Tables) -> None:
    table = await tables.add("prices", Rows(PRICES))

    symbol, day, close, volume = table.columns
    assert (symbol.type, symbol.values) == ("VARCHAR", ("AAPL", "MSFT"))
    assert (day.type, day.low, day.high) == ("DATE", "2024-10-14", "2024-10-15")
    assert (close.type, close.distinct) == ("DOUBLE", 2)
    assert close.mean == pytest.approx(326.295)
    assert (volume.type, volume.nulls) == ("BIGINT", 1)
    assert table.notes == ("day: text that is dates", "volume: text that is whole numbers; 1 × 'N/A' as NULL")


async def test_json_csv_and_sheets_stand_side_by_side(tables: Tables) -> None:
    one = await tables.add("weights", CsvText("symbol,weight\nAAPL,0.6137\nMSFT,0.3863\n"))
    two = await tables.add("names", Sheet("s", ["symbol", "name"], [["AAPL", "Apple"], ["MSFT", None]]))
    three = await tables.add("prices", JsonText(json.dumps(PRICES)))

    answer = await tables.query(
        f"SELECT name, weight * close AS worth FROM {one.name} JOIN {two.name} USING (symbol) "
        f"JOIN {three.name} USING (symbol) ORDER BY symbol"
    )

    assert answer.rows == [["Apple", pytest.approx(143.513745)], [None, pytest.approx(161.759262)]]


async def test_times_with_an_offset_are_the_same_moments_in_utc(tables: Tables) -> None:
    table = await tables.add(
        "times", Rows([{"moment": "2024-10-15T01:30:00+02:00"}, {"moment": "2024-10-15T00:00:00Z"}])
    )

    answer = await tables.query(f"SELECT moment FROM {table.name} ORDER BY 1")

    assert answer.rows == [["2024-10-14 23:30:00"], ["2024-10-15 00:00:00"]]


async def test_a_name_is_used_once(tables: Tables) -> None:
    names = [(await tables.add(wish, Rows(PRICES))).name for wish in ("Tick Data", "tick-data", "select", "日本", "")]

    assert names == ["tick_data", "tick_data_2", "data_select", "data", "data_2"]
    for name in names:
        assert (await tables.query(f"SELECT count(*) FROM {name}")).rows == [[2]]


async def test_odd_names_of_columns_are_shown_as_sql_wants_them(tables: Tables) -> None:
    table = await tables.add("odd_names", JsonText('[{"P/E \\"x\\"": 1, "order": 2, "Größe": 3, "a": 4, "A": 5}]'))

    assert [column.sql for column in table.columns] == ['"P/E ""x"""', '"order"', '"Größe"', "a", "A_2"]
    chosen = ", ".join(column.sql for column in table.columns)
    assert (await tables.query(f"SELECT {chosen} FROM odd_names")).rows == [[1, 2, 3, 4, 5]]
    assert "called 'A' in the data" in describe_table(table)


async def test_nested_values_can_be_asked_for(tables: Tables) -> None:
    table = await tables.add("nested_values", Rows([{"who": {"name": "Ada", "tags": [1, 2]}}]))

    assert table.columns[0].type == "JSON"
    assert (await tables.query("SELECT who->>'$.name' FROM nested_values")).rows == [["Ada"]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT content FROM '/etc/passwd'",
        "SELECT * FROM read_csv('/etc/passwd', header = false)",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM 'http://127.0.0.1:1/a.csv'",
        "COPY (SELECT 1) TO '{file}'",
        "WITH x AS (COPY (SELECT 1) TO '{file}') SELECT 1",
        "ATTACH '{file}' AS x",
        "EXPORT DATABASE '{file}'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA enable_external_access = true",
        "CALL pragma_version()",
        "DROP TABLE the_table",
        "DELETE FROM the_table",
        "UPDATE the_table SET a = 2",
        "INSERT INTO the_table VALUES (2)",
        "CREATE TEMP TABLE other AS SELECT 1",
        "CREATE VIEW other AS SELECT 1",
        "WITH x AS (INSERT INTO the_table VALUES (2) RETURNING a) SELECT * FROM x",
        "WITH x AS (DELETE FROM the_table RETURNING a) SELECT * FROM x",
        "SELECT 1; DROP TABLE the_table",
        "SELECT * FROM query('DROP TABLE the_table')",
        "BEGIN",
        "COMMIT",
        "EXECUTE x",
        "SELECT * FROM wanted",  # a variable of the program that runs it
        "",
        "-- nothing",
    ],
)
async def test_nothing_but_reading_the_tables_can_be_done(sql: str, tables: Tables, tmp_path: Path) -> None:
    await tables.add("the_table", Rows([{"a": 1}]))
    file = tmp_path / "loot"

    with pytest.raises(BadQuery):
        await tables.query(sql.replace("{file}", str(file)))

    assert not file.exists()
    assert (await tables.query("SELECT * FROM the_table")).rows == [[1]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(1000000000) a, range(1000000) b",
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT max(n) FROM x",
        "SELECT levenshtein(repeat('ab', 200000), repeat('cd', 200000))",
        "SELECT list(a) FROM range(1000000000) g(a)",
        "SELECT length(repeat('x', 2000000000) || repeat('y', 2000000000))",
        "SELECT a FROM range(1000000000) g(a) ORDER BY hash(a)",
        "SELECT " + "(" * 9000 + "1" + ")" * 9000,
        "SELECT " + "'x' || " * 3000,
    ],
)
async def test_a_query_that_runs_away_is_ended_and_the_tables_are_there_afterwards(sql: str) -> None:
    async with Tables(TableLimits(query=0.5)) as tables:
        await tables.add("the_table", Rows([{"a": 1}]))
        async with asyncio.timeout(30):
            with pytest.raises(BadQuery):
                await tables.query(sql)
            answer = await tables.query("SELECT a FROM the_table")

    assert answer.rows == [[1]]


async def test_a_result_is_cut_at_its_limit_with_a_note(tables: Tables) -> None:
    table = await tables.add("numbers", Rows([{"n": n} for n in range(100_000)]))

    answer = await tables.query(f"SELECT * FROM {table.name} -- all of them")

    assert (len(answer.rows), answer.total) == (200, 100_000)
    assert write_result(answer).endswith("199\n(first 200 of 100,000 rows)")


async def test_an_endless_result_returns_its_first_rows_with_a_note(tables: Tables) -> None:
    answer = await tables.query("SELECT a FROM range(1000000000) g(a), range(1000000)")

    assert write_result(answer).endswith("(first 200 rows of more; they were not counted)")


async def test_long_values_are_cut_with_a_note(tables: Tables) -> None:
    text = write_result(await tables.query("SELECT repeat('x', 100000) AS a FROM range(50)"))

    assert len(text) < 20_000
    assert "(100,000 characters)" in text
    assert text.endswith("(first 7 of 50 rows; 7 long values are cut)")


async def test_a_mistake_is_explained_in_one_line_with_what_there_is(tables: Tables) -> None:
    await tables.add("the_table", Rows([{"price": 1, "P/E": 2}]))

    with pytest.raises(BadQuery) as column:
        await tables.query("SELECT prise FROM the_table")
    with pytest.raises(BadQuery) as table:
        await tables.query("SELECT 1 FROM nowhere")

    assert column.value.message == (
        'Referenced column "prise" not found in FROM clause. Candidate bindings: "price" '
        'Tables: the_table(price, "P/E").'
    )
    assert table.value.message == 'Table with name nowhere does not exist. Tables: the_table(price, "P/E").'


async def test_values_of_every_type_become_json(tables: Tables) -> None:
    answer = await tables.query(
        "SELECT now(), 1.5::DECIMAL(5,2), [1, 2], {'a': 1}, DATE '2024-01-02', 'ab'::BLOB, 'nan'::DOUBLE, "
        "INTERVAL 1 DAY, 170141183460469231731687303715884105727::HUGEINT, NULL, [now()]"
    )

    row: list[Any] = answer.rows[0]
    assert row[1:10] == [1.5, [1, 2], {"a": 1}, "2024-01-02", "6162", "nan", "1 day, 0:00:00", str(2**127 - 1), None]
    assert re.match(r"\d{4}-\d\d-\d\d ", row[0])


async def test_a_table_that_is_no_table_is_refused_and_leaves_nothing(tables: Tables) -> None:
    with pytest.raises(UnreadableFile, match="not valid JSON"):
        await tables.add("broken", JsonText("{"))
    with pytest.raises(UnreadableFile, match="no columns"):
        await tables.add("broken", JsonText("[]"))

    assert tables.tables == ()
    assert (await tables.add("broken", Rows([{"a": 1}]))).name == "data_broken"


@pytest.mark.night  # makes 35 MB into rows; queries that fill the memory are in the gate
async def test_data_that_would_fill_the_memory_is_refused(tables: Tables) -> None:
    with pytest.raises(UnreadableFile, match="memory"):
        await tables.add("bomb", JsonText("[" + '{"a":[]},' * 3_500_000 + "{}]"))

    assert (await tables.add("small", Rows([{"a": 1}]))).rows == 1


async def test_a_question_that_is_given_up_does_not_spoil_the_next(tables: Tables) -> None:
    await tables.add("the_table", Rows([{"a": 1}]))
    slow = asyncio.create_task(tables.query("SELECT count(*) FROM range(1000000000) a, range(1000000) b"))
    await settle()
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow

    assert (await tables.query("SELECT a FROM the_table")).rows == [[1]]


async def test_questions_at_the_same_time_get_their_own_answers(tables: Tables) -> None:
    await tables.add("the_table", Rows([{"a": 1}]))

    answers = await asyncio.gather(*(tables.query(f"SELECT a + {n} FROM the_table") for n in range(10)))

    assert [answer.rows for answer in answers] == [[[1 + n]] for n in range(10)]


async def test_conversations_wait_for_a_free_process_and_fail_without_one() -> None:
    places = asyncio.Semaphore(1)
    async with Tables(slots=places) as first, Tables(TableLimits(load_timeout=0.1), places) as second:
        await first.add("the_table", Rows([{"a": 1}]))
        with pytest.raises(UnreadableFile, match="busy with other data"):
            await second.add("the_table", Rows([{"a": 1}]))

    async with Tables(slots=places) as third:
        assert (await third.add("the_table", Rows([{"a": 1}]))).rows == 1


async def test_the_child_has_none_of_the_servers_secrets(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RS_SECRET", "sk-secret")
    await tables.add("the_table", Rows([{"a": 1}]))

    process = tables._child._process
    assert process is not None
    environment = await asyncio.to_thread(Path(f"/proc/{process.pid}/environ").read_bytes)
    assert b"sk-secret" not in environment


@pytest.mark.serial
async def test_ten_megabytes_cost_little_and_nothing_of_them_stays() -> None:
    rows = [
        {
            "tick": n,
            "time": f"2024-10-15T{n // 3600 % 24:02d}:00:00Z",
            "venue": "XNAS",
            "price": n / 7,
            "note": "n" * 20,
        }
        for n in range(100_000)
    ]
    text = json.dumps(rows)
    del rows
    assert len(text) > 10_000_000
    await load_and_ask(text)  # what is imported and allocated once is no leak
    gc.collect()
    floor = parse_time(text)
    before, spent = resident(), children_time()

    count = await load_and_ask(text)

    assert count == 100_000
    assert children_time() - spent < 15 * floor
    gc.collect()
    assert resident() - before < 4 * 2**20


async def load_and_ask(text: str) -> Any:
    async with Tables() as tables:
        table = await tables.add("tick_data", JsonText(text))
        return (await tables.query(f"SELECT count(*) FROM {table.name}")).rows[0][0]


def parse_time(text: str) -> float:
    """CPU seconds for parsing the text alone."""
    started = time.process_time()
    json.loads(text)
    return time.process_time() - started


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def children_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def test_a_description_is_cut_at_its_limit_and_counts_what_it_omits(tables: Tables) -> None:
    row = {f"a_rather_long_name_of_a_column_{n}": "some words" * 20 for n in range(300)}
    table = await tables.add("wide", Rows([row] * 10))

    text = describe_table(table, 3000)

    assert len(text) < 3200
    assert text.startswith("table: data_wide\n10 rows, 300 columns")
    assert re.search(r"… \d+ more columns", text)
    assert text.endswith("SELECT … FROM data_wide")
