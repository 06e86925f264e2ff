"""SQL and pages, as a model calls for them."""

import re
from collections.abc import Mapping

import pytest

from rightseat.core.ask import Ask
from rightseat.core.errors import BadQuery, UnreadableFile
from rightseat.core.messages import user
from rightseat.core.tools import Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.data.tables import Rows, Tables
from rightseat.data.token_budget import OutputBudget, json_size
from rightseat.data.tools import MAX_READ_BYTES, document_tool, sql_tool
from rightseat.data.values import DocumentPage, ParsedDocument

LETTER = ParsedDocument(
    "letter.pdf", "pdf", tuple(DocumentPage(n, f"This is page {n}. " + "words " * 1000) for n in range(1, 8))
)


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
async def test_results_never_exceed_the_budget_however_many_there_are() -> None:
    room = OutputBudget(20_000)
    async with Tables() as tables:
        await tables.add("numbers", Rows([{"n": n, "square": n * n} for n in range(10_000)]))
        sql, pages = sql_tool(tables, budget=room), document_tool({"letter": LETTER}, budget=room)
        texts = [await run(sql, {"sql": "SELECT * FROM data_numbers"}) for _ in range(10)]
        texts += [await run(pages, {"document": "letter"}) for _ in range(6)]

    assert sum(map(json_size, texts)) < 20_000 + 8 * 400
    assert texts[0].endswith("(first 200 of 10,000 rows)")
    assert re.search(r"\(first 1?\d\d of 10,000 rows\)$", texts[9])
    assert "characters omitted" in texts[15]


async def test_invalid_sql_is_refused_without_starting_a_process() -> None:
    tool = sql_tool(Tables())

    with pytest.raises(BadQuery, match="should be a SELECT"):
        await run(tool, {"query": "SELECT 1"})


async def test_a_document_is_read_from_a_page_on_as_far_as_it_goes() -> None:
    text = await run(document_tool({"letter": LETTER}), {"document": "letter", "page": 3})

    assert text.startswith("[page 3]\nThis is page 3.")
    assert text.endswith("(Page 4 of 7 and the rest are not shown.)")
    assert json_size(text) <= MAX_READ_BYTES + 200


async def test_a_document_is_searched_for_words() -> None:
    tool = document_tool({"letter": LETTER})

    assert (await run(tool, {"document": "letter", "search": "THIS  is page 6"})).startswith("[page 6]\n")
    assert "is not in any of the 7 pages" in await run(tool, {"document": "letter", "search": "nowhere"})
    assert "(It is also on pages: 5, 6, 7.)" in await run(tool, {"document": "letter", "search": "words"})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"document": "other"}, "Documents: 'letter', 'note'"),
        ({"document": "letter", "page": 99}, "there is no page 99"),
    ],
)
async def test_an_unknown_document_or_page_is_reported_with_the_known_ones(
    arguments: dict[str, JsonValue], words: str
) -> None:
    note = ParsedDocument("note.txt", "txt", (DocumentPage(1, "Hi"),))

    with pytest.raises(UnreadableFile, match=words):
        await run(document_tool({"letter": LETTER, "note": note}), arguments)
