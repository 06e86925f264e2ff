"""Values of a parsed file with their paths, and the report that collects diagnostics about them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from rightseat.config.document import KeyPath, Place, YamlDocument
from rightseat.config.problems import nearest
from rightseat.plugins.diagnostics import KINDS, Diagnostic, Mode, Replacement


@dataclass(frozen=True, slots=True, eq=False)
class SourceFile:
    """One parsed file of a plugin."""

    file: str
    document: YamlDocument


@dataclass(frozen=True, slots=True)
class SourceNode:
    """A value of a file, and its path in that file."""

    source: SourceFile
    path: KeyPath
    value: Any

    def get(self, key: str | int) -> "SourceNode | None":
        """Return the child at the key; None if it is absent or this is not a mapping."""
        if isinstance(self.value, dict) and key in self.value:
            return SourceNode(self.source, (*self.path, key), self.value[key])
        return None

    def items(self) -> "Iterator[tuple[str, SourceNode]]":
        """Yield the pairs of a mapping; nothing for other values."""
        if isinstance(self.value, dict):
            for key, value in self.value.items():
                yield key, SourceNode(self.source, (*self.path, key), value)

    def elements(self) -> "Iterator[SourceNode]":
        """Yield the elements of a list; nothing for other values."""
        if isinstance(self.value, list):
            for index, value in enumerate(self.value):
                yield SourceNode(self.source, (*self.path, index), value)


def root(source: SourceFile) -> SourceNode:
    return SourceNode(source, (), source.document.value)


class DiagnosticReport:
    """Collects diagnostics without duplicates; `mode` decides how severe each code is."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self._diagnostics: dict[Diagnostic, None] = {}

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Sorted by file, line and column."""
        return tuple(sorted(self._diagnostics, key=lambda one: (one.file, one.line, one.column, one.code)))

    @property
    def has_error(self) -> bool:
        return any(one.severity == "error" for one in self._diagnostics)

    def add(
        self,
        code: str,
        node: SourceNode,
        message: str,
        hint: str = "",
        at: Literal["key", "value"] = "value",
        replacement: Replacement | None = None,
    ) -> None:
        document = node.source.document
        places = (document.keys, document.values) if at == "key" else (document.values, document.keys)
        place = places[0].get(node.path) or places[1].get(node.path) or nearest(document, node.path)
        self.add_at(code, node.source.file, place, message, hint, node.path, replacement)

    def add_at(
        self,
        code: str,
        file: str,
        place: Place,
        message: str,
        hint: str = "",
        path: KeyPath = (),
        replacement: Replacement | None = None,
    ) -> None:
        severity = KINDS[code].severity(self.mode)
        found = Diagnostic(code, severity, file, *place, pointer(path), message, hint, replacement)
        self._diagnostics[found] = None

    def add_file(self, code: str, file: str, message: str, hint: str = "") -> None:
        self.add_at(code, file, Place(0, 0), message, hint)


def pointer(path: KeyPath) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
