"""Applies the changes of a rerun to the fields of a case."""

import json
from collections.abc import Mapping, Sequence

from rightseat.core.errors import BadRequest
from rightseat.core.types import JsonValue
from rightseat.operations.reruns import RunChanges, TextChange

NOT_IN_CASE = (
    "Changed instructions and another model belong to the configuration, not to the case: set them there before you "
    "evaluate the case."
)


def apply_changes(fields: Mapping[str, JsonValue], changes: RunChanges) -> dict[str, JsonValue]:
    """What was said to the recorded run is not expected of the changed one. Raises `BadRequest`."""
    ask, history, recorded = fields["ask"], fields["history"], fields["recorded"]
    if isinstance(ask, list) or not isinstance(history, list) or not isinstance(recorded, list):
        raise BadRequest("Only one question can be changed. Choose a run, not a thread.")
    parameters = fields.get("parameters")
    known = dict(parameters) if isinstance(parameters, dict) else {}
    changed = {} if changes.temperature is None else {"temperature": changes.temperature}
    results = [_change_result(item, find_text(changes.results, place)) for place, item in enumerate(recorded)]
    results += [{"tool": one.tool, "arguments": dict(one.arguments), "result": one.result} for one in changes.added]
    return {
        **fields,
        "ask": _change_ask(ask, find_text(changes.messages, len(history))),
        "history": [_change_message(one, find_text(changes.messages, place)) for place, one in enumerate(history)],
        "parameters": {**known, **changed},
        "recorded": results,
        "expected": None,
    }


def check_places(changes: Sequence[TextChange], count: int) -> None:
    """Raises `BadRequest`."""
    if any(change.place >= count for change in changes):
        raise BadRequest("The run has no such message or result. Open it again: it may have changed.")


def find_text(changes: Sequence[TextChange], place: int) -> str | None:
    return next((change.text for change in reversed(changes) if change.place == place), None)


def _change_ask(ask: JsonValue, text: str | None) -> JsonValue:
    if text is None:
        return ask
    return {**ask, "text": text} if isinstance(ask, dict) else text


def _change_message(message: JsonValue, text: str | None) -> JsonValue:
    return message if text is None or not isinstance(message, dict) else dict.fromkeys(message, text)


def _change_result(item: JsonValue, text: str | None) -> JsonValue:
    """A result that was typed is no error. That of a step of a flow is JSON, if it can be read as such."""
    if text is None or not isinstance(item, dict):
        return item
    kept = {name: value for name, value in item.items() if name not in ("error", "result_file")}
    if "flow" not in item:
        answered = "approved" if item.get("approval") == "waiting" else item.get("approval")
        return {**kept, "result": text, "approval": answered}
    return {**kept, "result": _read_json(text), "status": 200 if item.get("error") else item.get("status")}


def _read_json(text: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        return text
    return found
