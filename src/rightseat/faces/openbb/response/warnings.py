"""Warnings for the user about requested data that could not be read.

They are never errors: on ERROR Workspace drops the newest result of the chat, including the data that did arrive.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rightseat.faces.openbb.prompt.results import as_text, embedded_error
from rightseat.faces.openbb.request.types import CommandResult, DataFailure, Datum, FunctionCall, FunctionResult
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools import mcp
from rightseat.faces.openbb.tools.catalog import FunctionCatalog
from rightseat.faces.openbb.tools.functions import StatusStep


def result_warnings(session: Session) -> list[StatusStep]:
    """Warnings about the last result; earlier ones were already reported."""
    messages = session.query.messages
    last = messages[-1]
    if not isinstance(last, FunctionResult):
        return []
    called = messages[-2] if len(messages) > 1 else None
    arguments = last.arguments or (called.arguments if isinstance(called, FunctionCall) else {})
    return list(_warnings_of(last, arguments, session.catalog))


def _warnings_of(entry: FunctionResult, arguments: Mapping[str, Any], catalog: FunctionCatalog) -> Iterator[StatusStep]:
    listed = arguments.get("data_sources")
    sources = [one if isinstance(one, dict) else {} for one in listed] if isinstance(listed, list) else [arguments]
    for number, datum in enumerate(entry.data):
        if (error := _error_of(datum)) is not None:
            one = sources[number] if number < len(sources) else {}
            yield StatusStep(_describe_failure(entry.function, one, catalog), [{"error": error}])


def _error_of(datum: Datum) -> str | None:
    if isinstance(datum, DataFailure):
        return datum.text
    if isinstance(datum, CommandResult):
        return as_text(datum.value.get("message") or datum.status) if datum.status == "error" else None
    found = [embedded_error(item) for item in datum.items]
    return found[0] if found and all(found) else None


def _describe_failure(function: str, sources: Mapping[str, Any], catalog: FunctionCatalog) -> str:
    if function == mcp.EXECUTE_TOOL:
        name = str(sources.get("tool_name", ""))
        return f"{name.partition('_')[2] or name or 'The tool'} failed"
    if function in ("get_widget_data", "get_extra_widget_data"):
        uuid, origin, id = (str(sources.get(key) or "") for key in ("widget_uuid", "origin", "id"))
        widget = catalog.widget(uuid, origin, id)
        return f"{widget.name if widget else id or 'A widget'} could not be read"
    return f"{function} failed"
