"""Parses and resolves paths into JSON: `items[0].name`, `files[*].id`, `["a.b"].c`, `rows[-1]`.

A path is a sequence of names separated by dots; `[n]` is an element of a list (negative from its end), `[*]` all
elements, and `["…"]` a name with dots or brackets. A number used as a name is also an index of a list.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rightseat.core.types import JsonValue

Missing = Literal["error", "null", "skip"]

MAX_CHARS = 1000
MAX_NAMES = 20
NAME_PATTERN = re.compile(r'[^.\[\]"\s](?:[^.\[\]"\n]*[^.\[\]"\s])?')
WORD_PATTERN = re.compile(r"[\w-]+")
BRACKET_PATTERN = re.compile(r'\[(?:(?P<number>-?\d{1,9})|(?P<every>\*)|"(?P<name>(?:[^"\\\n]|\\["\\])*)")\]')


@dataclass(frozen=True, slots=True)
class KeyPart:
    name: str


@dataclass(frozen=True, slots=True)
class IndexPart:
    number: int


@dataclass(frozen=True, slots=True)
class WildcardPart:
    """All elements of a list."""


ValuePath = tuple[KeyPart | IndexPart | WildcardPart, ...]


class InvalidPath(ValueError):
    """The text is not a valid path. `position` is the offset of the first invalid character."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class PathNotFound(Exception):
    """The path has no value. `at` is the part of it that exists, `known` the names that exist there."""

    def __init__(self, path: str, at: str, known: list[str]) -> None:
        super().__init__(f"There is no value at {path!r}: {at or 'the value'} has {format_names(known)}.")
        self.path = path
        self.at = at
        self.known = known


def parse(text: str) -> ValuePath:
    """Raises `InvalidPath`, and nothing else."""
    if len(text) > MAX_CHARS:
        raise InvalidPath(f"A path has at most {MAX_CHARS} characters.", MAX_CHARS)
    path, end = scan(text, 0, NAME_PATTERN)
    if end < len(text):
        raise InvalidPath(f"{text[end:]!r} is not a part of a path. {HINT}", end)
    return path


HINT = 'A path looks like `items[0].name`, `files[*].id` or `["a.b"]`.'


def scan(text: str, start: int, name: re.Pattern[str] = WORD_PATTERN) -> tuple[ValuePath, int]:
    """Parse a path from `start` and return it with its end; more text may follow. Raises `InvalidPath`."""
    parts: list[KeyPart | IndexPart | WildcardPart] = []
    at = start
    while True:
        if found := BRACKET_PATTERN.match(text, at):
            parts.append(parse_bracket(found))
        elif not parts or text[at : at + 1] == ".":
            at += bool(parts)
            found = name.match(text, at)
            if found is None:
                raise InvalidPath(f"A name is missing here. {HINT}", at)
            parts.append(KeyPart(found[0]))
        else:
            return tuple(parts), at
        at = found.end()


def parse_bracket(found: re.Match[str]) -> KeyPart | IndexPart | WildcardPart:
    if found["every"]:
        return WildcardPart()
    if found["number"]:
        return IndexPart(int(found["number"]))
    return KeyPart(re.sub(r"\\(.)", r"\1", found["name"]))


def get(value: JsonValue, path: ValuePath) -> JsonValue:
    """Return the value at the path; None if there is none."""
    try:
        return find(value, path, "null")
    except PathNotFound:
        return None


def find(value: JsonValue, path: ValuePath, missing: Missing = "error") -> JsonValue:
    """Return the value at the path. Raises `PathNotFound`.

    `missing` decides about elements after a `[*]` that lack the rest of the path: raise an error, use null, or skip
    them.
    """
    return find_from(value, path, 0, missing)


def find_from(value: JsonValue, path: ValuePath, at: int, missing: Missing) -> JsonValue:
    for number in range(at, len(path)):
        part = path[number]
        if isinstance(part, WildcardPart):
            if not isinstance(value, list):
                raise build_not_found(value, path, number)
            return list(find_in_elements(value, path, number + 1, missing))
        value = find_child(value, path, number)
    return value


def find_in_elements(values: list[JsonValue], path: ValuePath, at: int, missing: Missing) -> Iterator[JsonValue]:
    for value in values:
        try:
            yield find_from(value, path, at, missing)
        except PathNotFound:
            if missing == "error":
                raise
            if missing == "null":
                yield None


def find_child(value: JsonValue, path: ValuePath, number: int) -> JsonValue:
    part = path[number]
    if isinstance(part, KeyPart) and isinstance(value, dict) and part.name in value:
        return value[part.name]
    if isinstance(value, list) and (index := to_index(part)) is not None and -len(value) <= index < len(value):
        return value[index]
    raise build_not_found(value, path, number)


def to_index(part: KeyPart | IndexPart | WildcardPart) -> int | None:
    if isinstance(part, IndexPart):
        return part.number
    if isinstance(part, KeyPart) and part.name.isascii() and part.name.isdigit() and len(part.name) < 10:
        return int(part.name)
    return None


def build_not_found(value: JsonValue, path: ValuePath, number: int) -> PathNotFound:
    known: list[str] = []
    if isinstance(value, dict):
        known = list(value)
    elif isinstance(value, list) and value:
        known = [f"[0] to [{len(value) - 1}]"]
    return PathNotFound(format_path(path), format_path(path[:number]), known)


def format_path(path: ValuePath) -> str:
    """Format the path so that it can be parsed again."""
    text = ""
    for part in path:
        if isinstance(part, WildcardPart):
            text += "[*]"
        elif isinstance(part, IndexPart):
            text += f"[{part.number}]"
        elif NAME_PATTERN.fullmatch(part.name):
            text += f".{part.name}" if text else part.name
        else:
            quoted = part.name.replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{quoted}"]'
    return text


def format_names(names: list[str]) -> str:
    if not names:
        return "nothing"
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
