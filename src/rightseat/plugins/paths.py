"""Paths into JSON: `items[0].name`, `files[*].id`, `["a.b"].c`, `rows[-1]`.

A path is names with dots between them, `[n]` for an element of a list (negative from its end), `[*]` for all of them,
and `["…"]` for a name with dots or brackets in it. A number as a name counts in a list as well.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rightseat.core.values import JsonValue

Missing = Literal["error", "null", "skip"]

LONGEST = 1000  # characters
NAME = re.compile(r'[^.\[\]"\s](?:[^.\[\]"\n]*[^.\[\]"\s])?')
WORD = re.compile(r"[\w-]+")
BRACKET = re.compile(r'\[(?:(?P<number>-?\d{1,9})|(?P<every>\*)|"(?P<name>(?:[^"\\\n]|\\["\\])*)")\]')


@dataclass(frozen=True, slots=True)
class Key:
    name: str


@dataclass(frozen=True, slots=True)
class Index:
    number: int


@dataclass(frozen=True, slots=True)
class Every:
    """All elements of a list."""


Path = tuple[Key | Index | Every, ...]


class BadPath(ValueError):
    """A text that is no path. `position` is the first character that is wrong, counted from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


class NotThere(Exception):
    """Nothing is at the path. `at` is how far it led, `known` the names that do exist there."""

    def __init__(self, path: str, at: str, known: list[str]) -> None:
        super().__init__(f"There is nothing at {path!r}: {at or 'the value'} has {listed(known)}.")
        self.path = path
        self.at = at
        self.known = known


def parse(text: str) -> Path:
    """Raises `BadPath`, and nothing else."""
    if len(text) > LONGEST:
        raise BadPath(f"A path has at most {LONGEST} characters.", LONGEST)
    path, end = scan(text, 0, NAME)
    if end < len(text):
        raise BadPath(f"{text[end:]!r} is not a part of a path. {HINT}", end)
    return path


HINT = 'A path looks like `items[0].name`, `files[*].id` or `["a.b"]`.'


def scan(text: str, start: int, name: re.Pattern[str] = WORD) -> tuple[Path, int]:
    """The path that begins at `start`, and where it ends. There may be more text behind it. Raises `BadPath`."""
    parts: list[Key | Index | Every] = []
    at = start
    while True:
        if found := BRACKET.match(text, at):
            parts.append(bracketed(found))
        elif not parts or text[at : at + 1] == ".":
            at += bool(parts)
            found = name.match(text, at)
            if found is None:
                raise BadPath(f"A name is missing here. {HINT}", at)
            parts.append(Key(found[0]))
        else:
            return tuple(parts), at
        at = found.end()


def bracketed(found: re.Match[str]) -> Key | Index | Every:
    if found["every"]:
        return Every()
    if found["number"]:
        return Index(int(found["number"]))
    return Key(re.sub(r"\\(.)", r"\1", found["name"]))


def get(value: JsonValue, path: Path) -> JsonValue:
    """What is there; None where nothing is."""
    try:
        return find(value, path, "null")
    except NotThere:
        return None


def find(value: JsonValue, path: Path, missing: Missing = "error") -> JsonValue:
    """What is there. Raises `NotThere`.

    `missing` is for the elements behind a `[*]` that do not have the rest of the path: the whole is not there, they
    count as null, or they are left out.
    """
    return walk(value, path, 0, missing)


def walk(value: JsonValue, path: Path, at: int, missing: Missing) -> JsonValue:
    for number in range(at, len(path)):
        part = path[number]
        if isinstance(part, Every):
            if not isinstance(value, list):
                raise not_there(value, path, number)
            return list(elements(value, path, number + 1, missing))
        value = step(value, path, number)
    return value


def elements(values: list[JsonValue], path: Path, at: int, missing: Missing) -> Iterator[JsonValue]:
    for value in values:
        try:
            yield walk(value, path, at, missing)
        except NotThere:
            if missing == "error":
                raise
            if missing == "null":
                yield None


def step(value: JsonValue, path: Path, number: int) -> JsonValue:
    part = path[number]
    if isinstance(part, Key) and isinstance(value, dict) and part.name in value:
        return value[part.name]
    if isinstance(value, list) and (index := as_index(part)) is not None and -len(value) <= index < len(value):
        return value[index]
    raise not_there(value, path, number)


def as_index(part: Key | Index | Every) -> int | None:
    if isinstance(part, Index):
        return part.number
    if isinstance(part, Key) and part.name.isascii() and part.name.isdigit() and len(part.name) < 10:
        return int(part.name)
    return None


def not_there(value: JsonValue, path: Path, number: int) -> NotThere:
    known: list[str] = []
    if isinstance(value, dict):
        known = list(value)
    elif isinstance(value, list) and value:
        known = [f"[0] to [{len(value) - 1}]"]
    return NotThere(written(path), written(path[:number]), known)


def written(path: Path) -> str:
    """As it could be parsed again."""
    text = ""
    for part in path:
        if isinstance(part, Every):
            text += "[*]"
        elif isinstance(part, Index):
            text += f"[{part.number}]"
        elif NAME.fullmatch(part.name):
            text += f".{part.name}" if text else part.name
        else:
            quoted = part.name.replace("\\", "\\\\").replace('"', '\\"')
            text += f'["{quoted}"]'
    return text


def listed(names: list[str], most: int = 20) -> str:
    if not names:
        return "nothing"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
