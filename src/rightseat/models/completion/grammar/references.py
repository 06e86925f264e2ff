"""Resolves `$ref` by local pointers and anchors; remote references are never fetched."""

from typing import Any
from urllib.parse import unquote

from rightseat.core.types import split_pointer
from rightseat.models.completion.grammar.protocol import Schema


class UnresolvedReference(ValueError):
    """The reference cannot be resolved; the message has the reason."""


def resolve(root: Schema, reference: str) -> Schema:
    if not reference.startswith("#"):
        raise UnresolvedReference("refers to another document, which is not fetched")
    pointer = unquote(reference[1:])
    if pointer and not pointer.startswith("/"):
        return _find_anchor(root, pointer)
    found: Any = root
    for piece in split_pointer(pointer):
        found = _get_child(found, piece)
    if not isinstance(found, dict | bool):
        raise UnresolvedReference("refers to a value that is not a schema")
    return found


def _get_child(value: Any, piece: str) -> Any:
    if isinstance(value, dict) and piece in value:
        return value[piece]
    if isinstance(value, list) and piece.isdecimal() and len(piece) < 10 and int(piece) < len(value):
        return value[int(piece)]
    raise UnresolvedReference("refers to a definition that does not exist")


def _find_anchor(root: Schema, name: str) -> Schema:
    waiting: list[Any] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if name in (value.get("$anchor"), value.get("$dynamicAnchor")):
                return value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    raise UnresolvedReference("refers to an anchor that does not exist")


def list_references(schema: Any) -> list[str]:
    """Return every `$ref` in the schema."""
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


def make_standalone(root: Schema, schema: Schema) -> Schema:
    """Make the schema usable on its own. Raises `ValueError` if it refers to anything but `$defs`."""
    used = list_references(schema)
    if not used or isinstance(schema, bool) or isinstance(root, bool):
        return schema
    if any(not reference.startswith(("#/$defs/", "#/definitions/")) for reference in used):
        raise ValueError("it refers to a definition outside of $defs")
    return {**schema, **{key: root[key] for key in ("$defs", "definitions") if key in root}}
