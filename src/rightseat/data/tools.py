"""Tools that query data: SQL over the tables of a conversation, and pages of its documents."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from rightseat.core.errors import BadQuery, UnreadableFile
from rightseat.core.tools import Invocation, Tool
from rightseat.data.tables import Tables, list_tables, write_result
from rightseat.data.token_budget import MIN_BYTES, OutputBudget, json_size, truncate_middle
from rightseat.data.values import DocumentPage, ParsedDocument

Announce = Callable[[Invocation, str], None]
"""Called before a tool runs, to show its action to the user."""

MAX_READ_BYTES = 12_000  # of one call of `read_document`
DEFAULT_OUTPUT_BYTES = 32_000  # for the results of one turn
BUDGET_HINT = "ask for less: there is little room left for results"


def sql_tool(tables: Tables, announce: Announce | None = None, budget: OutputBudget | None = None) -> Tool:
    """`run_sql`: one SELECT over the tables that exist when it runs. It is read-only, so it needs no approval.

    `budget` is shared by all tools of a turn.
    """
    output = budget or OutputBudget(DEFAULT_OUTPUT_BYTES)

    async def run(invocation: Invocation) -> str:
        sql = invocation.arguments.get("sql")
        if not isinstance(sql, str) or not sql.strip():
            raise BadQuery(f"The argument `sql` should be a SELECT. {list_tables(tables.tables)}")
        if announce is not None:
            announce(invocation, sql)
        return output.truncate(write_result(await tables.query(sql), output.next_bytes), BUDGET_HINT)

    description = (
        "Run one SQL SELECT (DuckDB's dialect) over the tables of this conversation, for what needs all of the data: "
        f"counts, sums, extremes, filters, joins. {list_tables(tables.tables, 2000)}"
    )
    parameters: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"sql": {"type": "string", "description": "One SELECT statement."}},
        "required": ["sql"],
        "additionalProperties": False,
    }
    return Tool("run_sql", description, parameters, run)


def document_tool(
    documents: Mapping[str, ParsedDocument], announce: Announce | None = None, budget: OutputBudget | None = None
) -> Tool:
    """`read_document`: pages of a document from a number on, or those that contain some words."""
    output = budget or OutputBudget(DEFAULT_OUTPUT_BYTES)

    async def run(invocation: Invocation) -> str:
        name, page, search = read_arguments(invocation.arguments)
        document = find_document(documents, name)
        if announce is not None:
            announce(invocation, f"{document.name}, {f'search for {search!r}' if search else f'page {page}'}")
        max_bytes = min(MAX_READ_BYTES, output.next_bytes)
        return output.truncate(
            search_pages(document, search, max_bytes) if search else read_pages(document, page, max_bytes), BUDGET_HINT
        )

    listed = "; ".join(f"{name!r} ({count_pages(document)})" for name, document in documents.items())
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


def find_document(documents: Mapping[str, ParsedDocument], name: str) -> ParsedDocument:
    if name in documents:
        return documents[name]
    if len(documents) == 1 and not name:
        return next(iter(documents.values()))
    raise UnreadableFile(f"There is no document {name!r}. Documents: {', '.join(map(repr, documents)) or 'none'}.")


def count_pages(document: ParsedDocument) -> str:
    return f"{len(document.pages)} {document.unit}{'s' if len(document.pages) != 1 else ''}"


def read_pages(document: ParsedDocument, page: int, max_bytes: int) -> str:
    """As many pages as fit; a longer page is truncated in the middle."""
    pages = [one for one in document.pages if one.number >= page]
    if not pages:
        raise UnreadableFile(f"{document.name!r} has {count_pages(document)}; there is no {document.unit} {page}.")
    kept, budget = [write_page(document, pages[0], max_bytes - 100)], max_bytes - 100
    for one in pages[1:]:
        budget -= json_size(kept[-1])
        if json_size(one.text) > budget:
            kept.append(f"({document.unit.title()} {one.number} of {len(document.pages)} and the rest are not shown.)")
            break
        kept.append(write_page(document, one, budget))
    return "\n\n".join(kept)


def search_pages(document: ParsedDocument, search: str, max_bytes: int) -> str:
    words = " ".join(search.lower().split())
    pages = [page for page in document.pages if words in " ".join(page.text.lower().split())]
    if not pages:
        return f"{search!r} is not in any of the {count_pages(document)} of {document.name!r}."
    budget = max_bytes // min(len(pages), 4) - 50
    announce = [write_page(document, page, budget) for page in pages[:4]]
    if rest := [str(page.number) for page in pages[4:]]:
        announce.append(f"(It is also on {document.unit}s: {', '.join(rest[:50])}.)")
    return "\n\n".join(announce)


def write_page(document: ParsedDocument, page: DocumentPage, budget: int) -> str:
    text = truncate_middle(page.text, max(budget, MIN_BYTES), "search for words to see the part around them")
    return f"[{document.unit} {page.number}]\n{text}"
