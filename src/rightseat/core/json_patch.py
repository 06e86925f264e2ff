"""Applies JSON Patch operations (RFC 6902) to a document and returns a new document.

The given document is not modified.
"""

from collections.abc import Sequence
from typing import Any

from rightseat.core.errors import RightseatError
from rightseat.core.types import JsonValue, json_equal, split_pointer


class BadPatch(RightseatError):
    code = "bad_patch"
    status = 400


def apply_patch(document: JsonValue, operations: Sequence[Any]) -> JsonValue:
    """Apply all operations or none. Raises `BadPatch` for the first one that cannot be applied."""
    for number, operation in enumerate(operations):
        try:
            document = apply_operation(document, operation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise BadPatch(f"Operation {number} of the patch failed: {error}") from error
    return document


def apply_operation(document: JsonValue, operation: Any) -> JsonValue:
    match operation:
        case {"op": "add", "path": str(path), "value": value}:
            return put(document, split_pointer(path), value, insert=True)
        case {"op": "replace", "path": str(path), "value": value}:
            get(document, split_pointer(path))
            return put(document, split_pointer(path), value, insert=False)
        case {"op": "remove", "path": str(path)}:
            return remove(document, split_pointer(path))
        case {"op": "move", "path": str(path), "from": str(source)}:
            if path.startswith(source + "/"):
                raise ValueError(f"{source!r} cannot be moved into itself")
            value = get(document, split_pointer(source))
            return put(remove(document, split_pointer(source)), split_pointer(path), value, insert=True)
        case {"op": "copy", "path": str(path), "from": str(source)}:
            return put(document, split_pointer(path), get(document, split_pointer(source)), insert=True)
        case {"op": "test", "path": str(path), "value": value}:
            if not json_equal(get(document, split_pointer(path)), value):
                raise ValueError(f"{path!r} does not have the value that `test` expects")
            return document
    raise ValueError("its `op` must be add, replace, remove, move, copy or test, with the fields of that operation")


def get(document: JsonValue, steps: Sequence[str]) -> JsonValue:
    for step in steps:
        if isinstance(document, list):
            document = document[parse_index(step, len(document) - 1)]
        elif isinstance(document, dict):
            document = document[step]
        else:
            raise KeyError(step)
    return document


def put(document: JsonValue, steps: Sequence[str], value: JsonValue, *, insert: bool) -> JsonValue:
    """With `insert` the value is inserted into a list; otherwise it replaces the item."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(document, dict):
        return {**document, step: put(document[step] if rest else None, rest, value, insert=insert)}
    if isinstance(document, list):
        if rest:
            place = parse_index(step, len(document) - 1)
            return [*document[:place], put(document[place], rest, value, insert=insert), *document[place + 1 :]]
        place = len(document) if step == "-" and insert else parse_index(step, len(document) - (not insert))
        return [*document[:place], value, *document[place + (not insert) :]]
    raise KeyError(step)


def remove(document: JsonValue, steps: Sequence[str]) -> JsonValue:
    if not steps:
        return None
    step, rest = steps[0], steps[1:]
    if isinstance(document, dict):
        inner = document[step]
        if rest:
            return {**document, step: remove(inner, rest)}
        return {key: kept for key, kept in document.items() if key != step}
    if isinstance(document, list):
        place = parse_index(step, len(document) - 1)
        changed = [remove(document[place], rest)] if rest else []
        return [*document[:place], *changed, *document[place + 1 :]]
    raise KeyError(step)


def parse_index(step: str, most: int) -> int:
    if not step.isascii() or not step.isdigit() or (len(step) > 1 and step.startswith("0")) or int(step) > most:
        raise IndexError(f"{step!r} is not an index of a list with {most + 1} places")
    return int(step)
