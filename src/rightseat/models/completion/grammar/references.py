"""`$ref`: what a local pointer or anchor names. Nothing is ever fetched."""

from typing import Any
from urllib.parse import unquote

from rightseat.core.values import split_pointer

Schema = dict[str, Any] | bool


class Unresolved(ValueError):
    """Says why."""


def resolve(root: Schema, reference: str) -> Schema:
    if not reference.startswith("#"):
        raise Unresolved("names another document, which is not fetched")
    pointer = unquote(reference[1:])
    if pointer and not pointer.startswith("/"):
        return _anchored(root, pointer)
    found: Any = root
    for piece in split_pointer(pointer):
        found = _step(found, piece)
    if not isinstance(found, dict | bool):
        raise Unresolved("names something that is no schema")
    return found


def _step(value: Any, piece: str) -> Any:
    if isinstance(value, dict) and piece in value:
        return value[piece]
    if isinstance(value, list) and piece.isdecimal() and len(piece) < 10 and int(piece) < len(value):
        return value[int(piece)]
    raise Unresolved("names something that is not there")


def _anchored(root: Schema, name: str) -> Schema:
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if name in (value.get("$anchor"), value.get("$dynamicAnchor")):
                return value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    raise Unresolved("names an anchor that is not there")


def mentioned(schema: Any) -> list[str]:
    """Every `$ref` in it."""
    found: list[str] = []
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                found.append(value["$ref"])
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def standing(root: Schema, schema: Schema) -> Schema:
    """The schema as one that a validator can take by itself; ValueError where it refers to what is around it."""
    used = mentioned(schema)
    if not used or isinstance(schema, bool) or isinstance(root, bool):
        return schema
    if any(not reference.startswith(("#/$defs/", "#/definitions/")) for reference in used):
        raise ValueError("it refers to something outside of $defs")
    return {**schema, **{key: root[key] for key in ("$defs", "definitions") if key in root}}
