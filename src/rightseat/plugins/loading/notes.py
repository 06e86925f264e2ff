"""Values of a file that know where they stand, and the diagnostics about them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from rightseat.config.document import Document, Path, Place
from rightseat.config.problems import nearest
from rightseat.plugins.diagnostics import KINDS, Diagnostic, Mode


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """One file of a plugin, read."""

    file: str
    document: Document


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a file, and its path there."""

    source: Source
    path: Path
    value: Any

    def get(self, key: str | int) -> "Node | None":
        """What stands at the key; None where nothing does, or where this is no mapping."""
        if isinstance(self.value, dict) and key in self.value:
            return Node(self.source, (*self.path, key), self.value[key])
        return None

    def items(self) -> "Iterator[tuple[str, Node]]":
        """The pairs of a mapping; nothing of anything else."""
        if isinstance(self.value, dict):
            for key, value in self.value.items():
                yield key, Node(self.source, (*self.path, key), value)

    def elements(self) -> "Iterator[Node]":
        """The elements of a list; nothing of anything else."""
        if isinstance(self.value, list):
            for index, value in enumerate(self.value):
                yield Node(self.source, (*self.path, index), value)


def root(source: Source) -> Node:
    return Node(source, (), source.document.value)


class Notes:
    """Gathers diagnostics, each of them once."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self._found: dict[Diagnostic, None] = {}

    @property
    def found(self) -> tuple[Diagnostic, ...]:
        """By file and line, in the order in which someone reads."""
        return tuple(sorted(self._found, key=lambda one: (one.file, one.line, one.column, one.code)))

    @property
    def has_error(self) -> bool:
        return any(one.severity == "error" for one in self._found)

    def add(self, code: str, node: Node, message: str, hint: str = "", at: Literal["key", "value"] = "value") -> None:
        document = node.source.document
        places = (document.keys, document.values) if at == "key" else (document.values, document.keys)
        place = places[0].get(node.path) or places[1].get(node.path) or nearest(document, node.path)
        self.add_at(code, node.source.file, place, message, hint, node.path)

    def add_at(self, code: str, file: str, place: Place, message: str, hint: str = "", path: Path = ()) -> None:
        severity = KINDS[code].severity(self.mode)
        self._found[Diagnostic(code, severity, file, *place, pointer(path), message, hint)] = None

    def add_file(self, code: str, file: str, message: str, hint: str = "") -> None:
        self.add_at(code, file, Place(0, 0), message, hint)


def pointer(path: Path) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
