"""Tools over data: SQL over the tables of a conversation, and the pages of its documents."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from rightseat.core.errors import BadQuery, Unreadable
from rightseat.core.tools import Invocation, Tool
from rightseat.data.fitting import SHORTEST, Room, cut, size
from rightseat.data.tables import Tables, known, write_answer
from rightseat.data.values import Document, Page

Shown = Callable[[Invocation, str], None]
"""Told what a tool is about to do, so that a person can see it."""

AT_ONCE = 12_000  # bytes of text that one reading gives
TOGETHER = 32_000  # bytes that the results of one turn take, unless somebody knows better
NO_MORE = "ask for less: there is little room left for results"


def sql_tool(tables: Tables, shown: Shown | None = None, room: Room | None = None) -> Tool:
    """`run_sql`: one SELECT over the tables there are when it runs. It changes nothing, so nobody has to approve.

    `room` is for the results of all tools of a turn, so give it to each of them.
    """
    left = room or Room(TOGETHER)

    async def run(invocation: Invocation) -> str:
        sql = invocation.arguments.get("sql")
        if not isinstance(sql, str) or not sql.strip():
            raise BadQuery(f"The argument `sql` should be a SELECT. {known(tables.tables)}")
        if shown is not None:
            shown(invocation, sql)
        return left.take(write_answer(await tables.query(sql), left.next), NO_MORE)

    description = (
        "Run one SQL SELECT (DuckDB's dialect) over the tables of this conversation, for what needs all of the data: "
        f"counts, sums, extremes, filters, joins. {known(tables.tables, 2000)}"
    )
    parameters: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"sql": {"type": "string", "description": "One SELECT statement."}},
        "required": ["sql"],
        "additionalProperties": False,
    }
    return Tool("run_sql", description, parameters, run)


def document_tool(documents: Mapping[str, Document], shown: Shown | None = None, room: Room | None = None) -> Tool:
    """`read_document`: the pages of a document from a number on, or those on which some words stand."""
    left = room or Room(TOGETHER)

    async def run(invocation: Invocation) -> str:
        wanted, page, search = read_arguments(invocation.arguments)
        document = choose(documents, wanted)
        if shown is not None:
            shown(invocation, f"{document.name}, {f'search for {search!r}' if search else f'page {page}'}")
        most = min(AT_ONCE, left.next)
        return left.take(found(document, search, most) if search else read_from(document, page, most), NO_MORE)

    listed = "; ".join(f"{name!r} ({count(document)})" for name, document in documents.items())
    description = (
        "Read more of a document that was too long to be shown: its text from a page on, or the pages on which some "
        f"words stand. Documents: {listed[:2000]}."
    )
    parameters: dict[str, JsonValue] = {
        "type": "object",
        "properties": {
            "document": {"type": "string", "enum": list(documents), "description": "Which document."},
            "page": {"type": "integer", "minimum": 1, "description": "The page to begin with; 1 if it is left out."},
            "search": {"type": "string", "description": "Words to look for, instead of a page."},
        },
        "required": ["document"],
        "additionalProperties": False,
    }
    return Tool("read_document", description, parameters, run)


def read_arguments(arguments: Mapping[str, JsonValue]) -> tuple[str, int, str]:
    document, page, search = (arguments.get(name) for name in ("document", "page", "search"))
    number = int(page) if isinstance(page, int | float) or (isinstance(page, str) and page.isdecimal()) else 1
    return str(document or ""), max(number, 1), search if isinstance(search, str) else ""


def choose(documents: Mapping[str, Document], wanted: str) -> Document:
    if wanted in documents:
        return documents[wanted]
    if len(documents) == 1 and not wanted:
        return next(iter(documents.values()))
    raise Unreadable(f"There is no document {wanted!r}. Documents: {', '.join(map(repr, documents)) or 'none'}.")


def count(document: Document) -> str:
    return f"{len(document.pages)} {document.unit}{'s' if len(document.pages) != 1 else ''}"


def read_from(document: Document, page: int, most: int) -> str:
    """As many pages as go into one reading; a page that is longer than that is cut in its middle."""
    pages = [one for one in document.pages if one.number >= page]
    if not pages:
        raise Unreadable(f"{document.name!r} has {count(document)}; there is no {document.unit} {page}.")
    kept, room = [write_page(document, pages[0], most - 100)], most - 100
    for one in pages[1:]:
        room -= size(kept[-1])
        if size(one.text) > room:
            kept.append(f"({document.unit.title()} {one.number} of {len(document.pages)} and the rest are not shown.)")
            break
        kept.append(write_page(document, one, room))
    return "\n\n".join(kept)


def found(document: Document, search: str, most: int) -> str:
    words = " ".join(search.lower().split())
    pages = [page for page in document.pages if words in " ".join(page.text.lower().split())]
    if not pages:
        return f"{search!r} stands on none of the {count(document)} of {document.name!r}."
    room = most // min(len(pages), 4) - 50
    shown = [write_page(document, page, room) for page in pages[:4]]
    if rest := [str(page.number) for page in pages[4:]]:
        shown.append(f"(It stands on more {document.unit}s: {', '.join(rest[:50])}.)")
    return "\n\n".join(shown)


def write_page(document: Document, page: Page, room: int) -> str:
    text = cut(page.text, max(room, SHORTEST), "search for words to see the part around them")
    return f"[{document.unit} {page.number}]\n{text}"
