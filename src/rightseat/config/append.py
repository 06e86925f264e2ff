"""Appends an API key to the text of a configuration file without changing any other line."""

import textwrap
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, SequenceNode


class CannotAppend(Exception):
    """The text has no place where the key can be appended safely."""


class KeyNameTaken(Exception):
    """A key with that name exists."""


def add_key(text: str, entry: dict[str, Any]) -> str:
    """Return the text with the key under `access.keys`. Raises `CannotAppend` and `KeyNameTaken`."""
    try:
        if any(key.get("name") == entry["name"] for key in _keys(_read(text))):
            raise KeyNameTaken
        changed = _append(text, entry)
        if _read(changed) == _with_entry(_read(text), entry):
            return changed
    except (yaml.YAMLError, TypeError, KeyError, AttributeError) as error:
        raise CannotAppend from error
    raise CannotAppend


def format_section(entry: dict[str, Any]) -> str:
    """The section `access`, for a file without it."""
    return f"access:\n  keys:\n{textwrap.indent(_item(entry), '    ')}"


def _append(text: str, entry: dict[str, Any]) -> str:
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    if root is None or _value(root, "access") is None:
        return f"{text.rstrip()}\n\n{format_section(entry)}".lstrip("\n")
    keys = _value(_value(root, "access"), "keys")
    if not isinstance(keys, SequenceNode) or keys.flow_style or not keys.value:
        raise CannotAppend
    lines = text.splitlines(keepends=True)
    end = _last_line(keys) + 1
    item = textwrap.indent(_item(entry), " " * keys.start_mark.column)
    return "".join([*lines[: end - 1], f"{lines[end - 1].rstrip()}\n", item, *lines[end:]])


def _item(entry: dict[str, Any]) -> str:
    return str(yaml.safe_dump([entry], sort_keys=False, width=200))


def _value(node: Node | None, key: str) -> Node | None:
    pairs = node.value if isinstance(node, MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _last_line(node: Node) -> int:
    """The last line of the content: a YAML block ends after the comments that follow it."""
    if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.line)
    last = node.value[-1]
    return max(_last_line(part) for part in (last if isinstance(last, tuple) else (last,)))


def _read(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader) or {}


def _with_entry(value: Any, entry: dict[str, Any]) -> Any:
    return value | {"access": (value.get("access") or {}) | {"keys": [*_keys(value), entry]}}


def _keys(value: Any) -> list[Any]:
    return (value.get("access") or {}).get("keys") or []
