"""SQL and pages, as a model calls for them."""

import re
from collections.abc import Mapping

import pytest

from rightseat.core.ask import Ask
from rightseat.core.errors import BadQuery, Unreadable
from rightseat.core.messages import user
from rightseat.core.tools import Invocation, Tool
from rightseat.core.values import JsonValue
from rightseat.data.fitting import Room, size
from rightseat.data.tables import Rows, Tables
from rightseat.data.tools import AT_ONCE, document_tool, sql_tool
from rightseat.data.values import Document, Page

LETTER = Document("letter.pdf", "pdf", tuple(Page(n, f"This is page {n}. " + "words " * 1000) for n in range(1, 8)))


async def run(tool: Tool, arguments: Mapping[str, JsonValue]) -> str:
    assert tool.run is not None
    return await tool.run(Invocation("c1", arguments, Ask(messages=(user("Hi"),)), "k"))


@pytest.mark.whole
async def test_sql_is_shown_and_then_run() -> None:
    shown: list[str] = []
    async with Tables() as tables:
        await tables.add("prices", Rows([{"close": 1.5}, {"close": 2.5}]))
        tool = sql_tool(tables, lambda invocation, sql: shown.append(sql))
        text = await run(tool, {"sql": "SELECT sum(close) AS total FROM data_prices"})

    assert text == "total\n4.0\n"
    assert shown == ["SELECT sum(close) AS total FROM data_prices"]
    assert "Tables: data_prices(close)." in tool.description
    assert (tool.name, tool.effect, tool.approval) == ("run_sql", "read", None)


@pytest.mark.whole
async def test_results_never_fill_the_room_however_many_there_are() -> None:
    room = Room(20_000)
    async with Tables() as tables:
        await tables.add("numbers", Rows([{"n": n, "square": n * n} for n in range(10_000)]))
        sql, pages = sql_tool(tables, room=room), document_tool({"letter": LETTER}, room=room)
        texts = [await run(sql, {"sql": "SELECT * FROM data_numbers"}) for _ in range(10)]
        texts += [await run(pages, {"document": "letter"}) for _ in range(6)]

    assert sum(map(size, texts)) < 20_000 + 8 * 400
    assert texts[0].endswith("(first 200 of 10,000 rows)")
    assert re.search(r"\(first 1?\d\d of 10,000 rows\)$", texts[9])
    assert "characters are left out here" in texts[15]


async def test_sql_that_is_none_is_refused_without_a_process() -> None:
    tool = sql_tool(Tables())

    with pytest.raises(BadQuery, match="should be a SELECT"):
        await run(tool, {"query": "SELECT 1"})


async def test_a_document_is_read_from_a_page_on_as_far_as_it_goes() -> None:
    text = await run(document_tool({"letter": LETTER}), {"document": "letter", "page": 3})

    assert text.startswith("[page 3]\nThis is page 3.")
    assert text.endswith("(Page 4 of 7 and the rest are not shown.)")
    assert size(text) <= AT_ONCE + 200


async def test_a_document_is_searched_for_words() -> None:
    tool = document_tool({"letter": LETTER})

    assert (await run(tool, {"document": "letter", "search": "THIS  is page 6"})).startswith("[page 6]\n")
    assert "stands on none of the 7 pages" in await run(tool, {"document": "letter", "search": "nowhere"})
    assert "(It stands on more pages: 5, 6, 7.)" in await run(tool, {"document": "letter", "search": "words"})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"document": "other"}, "Documents: 'letter', 'note'"),
        ({"document": "letter", "page": 99}, "there is no page 99"),
    ],
)
async def test_what_is_not_there_is_told_with_what_is(arguments: dict[str, JsonValue], words: str) -> None:
    note = Document("note.txt", "txt", (Page(1, "Hi"),))

    with pytest.raises(Unreadable, match=words):
        await run(document_tool({"letter": LETTER, "note": note}), arguments)
