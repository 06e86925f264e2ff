"""Tools that look into what was read: SQL over long data, and the pages of long documents."""

from collections.abc import Sequence
from importlib import import_module

from rightseat.core.events import Custom
from rightseat.core.tools import Invocation, Tool
from rightseat.core.values import JsonValue
from rightseat.faces.openbb.session import Session


def tools(session: Session) -> Sequence[Tool]:
    """None where there is nothing to look into: what runs SQL is imported only when there is."""
    found: list[Tool] = []
    known = [document for source in session.sources for document in source.documents]
    documents = {document.name: document for document in known if document.pages}
    tables = session.files.tables
    if tables is not None or documents:
        made = import_module("rightseat.data.tools")
        if tables is not None:
            found.append(made.sql_tool(tables, show_sql, session.room))
        if documents:
            found.append(made.document_tool(documents, room=session.room))
    return found


def show_sql(invocation: Invocation, sql: str) -> None:
    """The user sees what was asked of the data."""
    step: dict[str, JsonValue] = {"eventType": "INFO", "message": "Querying the data", "details": [sql]}
    invocation.emit(Custom("openbb.status", step))
