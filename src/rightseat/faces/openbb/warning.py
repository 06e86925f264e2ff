"""What the user is told when something that was asked for did not come: a warning, never an error.

At an ERROR Workspace forgets the newest result of the chat, and with it what did come.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from rightseat.faces.openbb import mcp
from rightseat.faces.openbb.asking import Called, Datum, Done, Failure, Returned
from rightseat.faces.openbb.calls import Catalogue
from rightseat.faces.openbb.functions import Step
from rightseat.faces.openbb.results import as_text, hidden_failure
from rightseat.faces.openbb.session import Session


def warnings(session: Session) -> list[Step]:
    """Of the result that came with this request: those before it were told of in their time."""
    messages = session.query.messages
    last = messages[-1]
    if not isinstance(last, Returned):
        return []
    called = messages[-2] if len(messages) > 1 else None
    arguments = last.arguments or (called.arguments if isinstance(called, Called) else {})
    return list(_of(last, arguments, session.catalogue))


def _of(entry: Returned, arguments: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Step]:
    listed = arguments.get("data_sources")
    wanted = [one if isinstance(one, dict) else {} for one in listed] if isinstance(listed, list) else [arguments]
    for number, datum in enumerate(entry.data):
        if (problem := _problem(datum)) is not None:
            one = wanted[number] if number < len(wanted) else {}
            yield Step(_sentence(entry.function, one, catalogue), [{"error": problem}])


def _problem(datum: Datum) -> str | None:
    if isinstance(datum, Failure):
        return datum.text
    if isinstance(datum, Done):
        return as_text(datum.value.get("message") or datum.status) if datum.status == "error" else None
    found = [hidden_failure(item) for item in datum.items]
    return found[0] if found and all(found) else None


def _sentence(function: str, wanted: Mapping[str, Any], catalogue: Catalogue) -> str:
    if function == mcp.EXECUTE:
        name = str(wanted.get("tool_name", ""))
        return f"{name.partition('_')[2] or name or 'The tool'} failed"
    if function in ("get_widget_data", "get_extra_widget_data"):
        uuid, origin, id = (str(wanted.get(key) or "") for key in ("widget_uuid", "origin", "id"))
        widget = catalogue.widget(uuid, origin, id)
        return f"{widget.name if widget else id or 'A widget'} could not be read"
    return f"{function} failed"
