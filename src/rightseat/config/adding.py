"""Adds a key to the text of a configuration, and leaves every other line as it was."""

import textwrap
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, SequenceNode


class NoRoom(Exception):
    """The text has no place for it that we can be sure of."""


class NameTaken(Exception):
    """There is a key of that name."""


def add_key(text: str, entry: dict[str, Any]) -> str:
    """The text with the key under `access.keys`, and nothing else. Raises `NoRoom` and `NameTaken`."""
    try:
        if any(key.get("name") == entry["name"] for key in _keys(_read(text))):
            raise NameTaken
        changed = _added(text, entry)
        if _read(changed) == _with(_read(text), entry):
            return changed
    except (yaml.YAMLError, TypeError, KeyError, AttributeError) as error:
        raise NoRoom from error
    raise NoRoom


def block(entry: dict[str, Any]) -> str:
    """The whole section, for a file that has none."""
    return f"access:\n  keys:\n{textwrap.indent(_item(entry), '    ')}"


def _added(text: str, entry: dict[str, Any]) -> str:
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    if root is None or _value(root, "access") is None:
        return f"{text.rstrip()}\n\n{block(entry)}".lstrip("\n")
    keys = _value(_value(root, "access"), "keys")
    if not isinstance(keys, SequenceNode) or keys.flow_style or not keys.value:
        raise NoRoom
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
    """Of what is written there: a block's own end is after the comments that follow it."""
    if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.line)
    last = node.value[-1]
    return max(_last_line(part) for part in (last if isinstance(last, tuple) else (last,)))


def _read(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader) or {}


def _with(value: Any, entry: dict[str, Any]) -> Any:
    return value | {"access": (value.get("access") or {}) | {"keys": [*_keys(value), entry]}}


def _keys(value: Any) -> list[Any]:
    return (value.get("access") or {}).get("keys") or []
