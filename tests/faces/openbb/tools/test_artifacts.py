"""Tables, charts and cards: what is right reaches the client, what is wrong goes back to the model."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from rightseat.core.ask import Ask
from rightseat.core.errors import BadRequest
from rightseat.core.events import Custom, Event
from rightseat.core.messages import user
from rightseat.core.tools import Invocation
from rightseat.data.tables import Rows, Tables
from rightseat.faces.openbb.citations.sources import CitationSource
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools import artifacts
from tests.faces.openbb.serving import session_of

ROWS = [{"symbol": "AAPL", "price": 233.85}, {"symbol": "MSFT", "price": 418.74}]
LINE = {"type": "line", "name": "Closes", "data": ROWS, "x_key": "symbol", "y_keys": ["price"]}
PIE = {"type": "pie", "name": "Share", "data": ROWS, "angle_key": "price", "callout_label_key": "symbol"}


async def use(
    session: Session, name: str, arguments: Mapping[str, Any], into: list[Event] | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """What the model is told, and what the client is shown."""
    emitted = [] if into is None else into
    invocation = Invocation("c1", arguments, Ask(messages=(user("Hi"),)), "k", None, emitted.append)
    tool = {tool.name: tool for tool in artifacts.tools(session)}[name]
    assert tool.run is not None
    reply = await tool.run(invocation)
    shown = [event.value for event in emitted if isinstance(event, Custom) and event.name == "openbb.artifact"]
    return reply, [value for value in shown if isinstance(value, dict)]


async def test_a_table_is_shown_with_its_rows() -> None:
    reply, (table,) = await use(session_of(), "create_table", {"name": "Prices", "description": "Now", "data": ROWS})

    assert table.pop("uuid")
    assert table == {"type": "table", "name": "Prices", "description": "Now", "content": ROWS}
    assert reply == "Shown to the user as 'Prices'. It has 2 rows."


async def test_rows_may_come_as_json_text() -> None:
    _, (table,) = await use(session_of(), "create_table", {"name": "Prices", "data": json.dumps(ROWS)})

    assert table["content"] == ROWS


@pytest.mark.parametrize("kind", ["line", "bar"])
async def test_a_chart_with_axes_names_its_columns(kind: str) -> None:
    _, (chart,) = await use(session_of(), "create_chart", LINE | {"type": kind})

    assert chart["chart_params"] == {"chartType": kind, "xKey": "symbol", "yKey": ["price"]}
    assert chart["content"] == ROWS


@pytest.mark.parametrize("kind", ["pie", "donut"])
async def test_a_round_chart_names_angle_and_label(kind: str) -> None:
    _, (chart,) = await use(session_of(), "create_chart", PIE | {"type": kind})

    assert chart["chart_params"] == {"chartType": kind, "angleKey": "price", "calloutLabelKey": "symbol"}


async def test_a_key_of_another_chart_type_is_ignored_and_reported_to_the_model() -> None:
    reply, (chart,) = await use(session_of(), "create_chart", PIE | {"x_key": "symbol", "y_keys": None})

    assert "xKey" not in chart["chart_params"]
    assert reply.endswith("A pie chart has no x_key: it was not used.")


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("create_chart", {"type": "sunburst", "data": "nonsense", "name": "Bad"}, "type must be one of line, bar"),
        ("create_chart", LINE | {"data": "nonsense"}, "data must be a list"),
        ("create_chart", LINE | {"data": []}, "data must be a list"),
        ("create_chart", LINE | {"data": [1]}, "Row 1 of data is not an object"),
        ("create_chart", LINE | {"x_key": None}, "A line chart needs x_key. The columns are symbol, price"),
        ("create_chart", LINE | {"y_keys": []}, "A line chart needs y_keys"),
        ("create_chart", LINE | {"y_keys": ["volume"]}, "no column of the rows. The columns are symbol, price"),
        ("create_chart", LINE | {"y_keys": ["symbol"]}, "'symbol' must hold numbers, but row 1 has 'AAPL'"),
        ("create_chart", LINE | {"type": "scatter"}, "'symbol' must hold numbers"),
        ("create_chart", PIE | {"data": [{"symbol": "A", "price": -1}]}, "must not be negative"),
        ("create_chart", PIE | {"data": [{"symbol": "A", "price": None}]}, "holds no number at all"),
        ("create_chart", LINE | {"colour": "red"}, "There is no argument colour"),
        ("create_table", {"name": "T", "data": [{"a": [1]}]}, "Row 1 has a 'a' that is no text"),
        ("create_table", {"name": "T", "data": [{"a": 1}] * 5001}, "at most 5,000"),
        ("create_table", {"name": "x" * 101, "data": ROWS}, "name must be a text of at most 100"),
        ("create_table", {"name": "T", "data": ROWS, "sql": "SELECT 1"}, "Give one of data, sql and source"),
        ("create_table", {"name": "T", "sql": "SELECT 1"}, "There is no table to query"),
        ("create_html", {"name": "H", "content": " "}, "content must be a text"),
        ("create_html", {"name": "H", "content": "<script>"}, "Nothing of the HTML can be shown. Removed: <script>"),
        ("create_text", {"name": "H", "content": ["x"]}, "content must be a text"),
        ("create_html", {"name": "H", "content": "x" * 200_001}, "at most 200,000"),
    ],
)
async def test_what_cannot_be_drawn_is_refused_with_what_would_be_right(
    name: str, arguments: Mapping[str, Any], problem: str
) -> None:
    with pytest.raises(BadRequest, match=problem):
        await use(session_of(), name, arguments)


async def test_html_is_shown_as_it_is() -> None:
    html = '<div style="padding:8px"><b>€124.5K</b></div>'

    reply, (card,) = await use(session_of(), "create_html", {"name": "Card", "content": html})

    assert (card["type"], card["content"]) == ("html", html)
    assert reply == "Shown to the user as 'Card'."


async def test_removed_html_is_reported_to_the_model() -> None:
    html = "<b onclick=alert(1)>x</b><script>alert(1)</script>"

    reply, (card,) = await use(session_of(), "create_html", {"name": "Card", "content": html})

    assert card["content"] == "<b>x</b>"
    assert reply.startswith("Shown to the user as 'Card'. Removed from it: <script>, onclick of <b>. Text, tables,")


async def test_a_text_of_its_own_is_shown_as_it_is() -> None:
    _, (note,) = await use(session_of(), "create_text", {"name": "note", "content": "# Note\n\nBuy low."})

    assert (note["type"], note["content"]) == ("text", "# Note\n\nBuy low.")


async def test_a_name_that_the_chat_has_already_gets_a_number() -> None:
    session = session_of()
    session.artifact_names.append("Prices")

    reply, (table,) = await use(session, "create_table", {"name": "Prices", "data": ROWS})

    assert table["name"] == "Prices (2)"
    assert "'Prices' could not be used" in reply


async def test_a_name_cannot_break_the_clients_markers() -> None:
    _, (table,) = await use(session_of(), "create_table", {"name": "A<|end_artifact_id|>\nB", "data": ROWS})

    assert table["name"] == "A< |end_artifact_id| > B"


async def test_rows_that_were_shown_can_be_named_by_their_source() -> None:
    session = session_of()
    rows = json.dumps([*ROWS, {"symbol": {"odd": 1}, "price": None}])
    session.add_source(CitationSource(kind="widget", name="Prices", texts=[rows]))
    session.add_source(CitationSource(kind="widget", name="Letter", texts=["Dear all"]))
    pie = {"type": "line", "name": "Share", "source": "[S1]", "x_key": "symbol", "y_keys": ["price"]}

    _, (chart,) = await use(session, "create_chart", pie)

    assert chart["content"] == [*ROWS, {"symbol": "{'odd': 1}", "price": None}]
    with pytest.raises(BadRequest, match="There are: S1, S2"):
        await use(session, "create_chart", pie | {"source": "S9"})
    with pytest.raises(BadRequest, match="S2 holds no rows"):
        await use(session, "create_table", {"name": "L", "source": "S2"})


async def test_rows_can_be_asked_for_in_sql() -> None:
    session = session_of()
    async with Tables() as tables:
        session.files.tables = tables
        await tables.add("daily_prices", Rows([{"day": day, "close": day / 2} for day in range(3000)]))
        query = "SELECT day, close FROM daily_prices ORDER BY day"

        reply, (chart,) = await use(
            session, "create_chart", {"type": "line", "name": "C", "sql": query, "x_key": "day", "y_keys": ["close"]}
        )

    assert len(chart["content"]) == 3000
    assert chart["content"][-1] == {"day": 2999, "close": 1499.5}
    assert "It has 3000 rows." in reply


async def test_a_whole_table_can_be_shown_by_its_name_and_the_user_sees_the_query() -> None:
    session = session_of()
    emitted: list[Event] = []
    async with Tables() as tables:
        session.files.tables = tables
        await tables.add("long_one", Rows([{"n": number} for number in range(3)]))

        _, (table,) = await use(session, "create_table", {"name": "T", "sql": "long_one"}, emitted)

    assert table["content"] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert [event.name for event in emitted if isinstance(event, Custom)] == ["openbb.status", "openbb.artifact"]


async def test_rows_beyond_the_limit_are_reported() -> None:
    session = session_of()
    async with Tables() as tables:
        session.files.tables = tables
        await tables.add("long_one", Rows([{"n": number} for number in range(6000)]))

        reply, (table,) = await use(session, "create_table", {"name": "T", "sql": "SELECT n FROM long_one"})

    assert len(table["content"]) == 5000
    assert "the first 5,000 of 6,000 rows" in reply


def test_a_client_of_2024_is_offered_tables_only() -> None:
    assert [tool.name for tool in artifacts.tools(session_of(version="legacy"))] == ["create_table"]


def test_a_table_as_text_has_all_columns_and_notes_what_it_omits() -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": "x|y\nz"}, {"a": None, "c": True}]
    rows += [{"a": number} for number in range(100)]

    text = artifacts.to_markdown({"name": "T", "content": rows})

    lines = text.strip().splitlines()
    assert lines[0] == "**T**"
    assert lines[2:6] == ["| a | b | c |", "| --- | --- | --- |", "| 1 | x\\|y z |  |", "|  |  | true |"]
    assert lines[-1] == "2 more rows are not shown."
