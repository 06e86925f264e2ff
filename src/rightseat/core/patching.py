"""JSON Patch (RFC 6902): a document and a list of operations → the document that they make.

Nothing is changed in place: what was given stays as it was.
"""

from collections.abc import Sequence
from typing import Any

from rightseat.core.errors import RightseatError
from rightseat.core.values import JsonValue, json_equal, split_pointer


class BadPatch(RightseatError):
    code = "bad_patch"
    status = 400


def patched(document: JsonValue, operations: Sequence[Any]) -> JsonValue:
    """All operations or none: raises `BadPatch` at the first that cannot be done."""
    for number, operation in enumerate(operations):
        try:
            document = apply(document, operation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise BadPatch(f"Operation {number} of the patch cannot be done: {error}") from error
    return document


def apply(document: JsonValue, operation: Any) -> JsonValue:
    match operation:
        case {"op": "add", "path": str(path), "value": value}:
            return put(document, split_pointer(path), value, insert=True)
        case {"op": "replace", "path": str(path), "value": value}:
            get(document, split_pointer(path))
            return put(document, split_pointer(path), value, insert=False)
        case {"op": "remove", "path": str(path)}:
            return without(document, split_pointer(path))
        case {"op": "move", "path": str(path), "from": str(source)}:
            if path.startswith(source + "/"):
                raise ValueError(f"{source!r} cannot be moved into itself")
            value = get(document, split_pointer(source))
            return put(without(document, split_pointer(source)), split_pointer(path), value, insert=True)
        case {"op": "copy", "path": str(path), "from": str(source)}:
            return put(document, split_pointer(path), get(document, split_pointer(source)), insert=True)
        case {"op": "test", "path": str(path), "value": value}:
            if not json_equal(get(document, split_pointer(path)), value):
                raise ValueError(f"{path!r} is not what was expected")
            return document
    raise ValueError("it is none of add, replace, remove, move, copy, test with their fields")


def get(document: JsonValue, steps: Sequence[str]) -> JsonValue:
    for step in steps:
        if isinstance(document, list):
            document = document[index(step, len(document) - 1)]
        elif isinstance(document, dict):
            document = document[step]
        else:
            raise KeyError(step)
    return document


def put(document: JsonValue, steps: Sequence[str], value: JsonValue, *, insert: bool) -> JsonValue:
    """With `insert` a list grows by the value; without, its place is taken."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(document, dict):
        return {**document, step: put(document[step] if rest else None, rest, value, insert=insert)}
    if isinstance(document, list):
        if rest:
            place = index(step, len(document) - 1)
            return [*document[:place], put(document[place], rest, value, insert=insert), *document[place + 1 :]]
        place = len(document) if step == "-" and insert else index(step, len(document) - (not insert))
        return [*document[:place], value, *document[place + (not insert) :]]
    raise KeyError(step)


def without(document: JsonValue, steps: Sequence[str]) -> JsonValue:
    if not steps:
        return None
    step, rest = steps[0], steps[1:]
    if isinstance(document, dict):
        inner = document[step]
        if rest:
            return {**document, step: without(inner, rest)}
        return {key: kept for key, kept in document.items() if key != step}
    if isinstance(document, list):
        place = index(step, len(document) - 1)
        changed = [without(document[place], rest)] if rest else []
        return [*document[:place], *changed, *document[place + 1 :]]
    raise KeyError(step)


def index(step: str, most: int) -> int:
    if not step.isascii() or not step.isdigit() or (len(step) > 1 and step.startswith("0")) or int(step) > most:
        raise IndexError(f"{step!r} is no place in a list with {most + 1}")
    return int(step)
