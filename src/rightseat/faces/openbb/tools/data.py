"""Tools that read loaded data: SQL over tables, and pages of long documents."""

from collections.abc import Sequence
from importlib import import_module

from rightseat.core.events import Custom
from rightseat.core.tools import Invocation, Tool
from rightseat.core.types import JsonValue
from rightseat.faces.openbb.session import Session


def tools(session: Session) -> Sequence[Tool]:
    """No tools without data. The SQL engine is imported only if needed."""
    found: list[Tool] = []
    known = [document for source in session.sources for document in source.documents]
    documents = {document.name: document for document in known if document.pages}
    tables = session.files.tables
    if tables is not None or documents:
        data_tools = import_module("rightseat.data.tools")
        if tables is not None:
            found.append(data_tools.sql_tool(tables, show_sql, session.output_budget))
        if documents:
            found.append(data_tools.document_tool(documents, budget=session.output_budget))
    return found


def show_sql(invocation: Invocation, sql: str) -> None:
    """Show the query to the user as a status."""
    step: dict[str, JsonValue] = {"eventType": "INFO", "message": "Querying the data", "details": [sql]}
    invocation.emit(Custom("openbb.status", step))
