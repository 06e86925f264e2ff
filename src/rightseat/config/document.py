"""YAML → values, and where each of them stands.

Built from YAML's nodes and not by a loader, because nodes know their line and column. A key given twice, a tag, and
aliases that multiply without bounds are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rightseat.config.variables import expand
from rightseat.core.errors import ConfigError

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 40
MAX_VALUES = 20_000

Path = tuple[str | int, ...]


class Place(NamedTuple):
    """Counted from 1."""

    line: int
    column: int


class Problem(NamedTuple):
    place: Place
    text: str


@dataclass(slots=True)
class Document:
    """What a file says. `written` has the values with a `${…}` in them, as they stand in the file."""

    value: Any = None
    keys: dict[Path, Place] = field(default_factory=dict)
    values: dict[Path, Place] = field(default_factory=dict)
    written: dict[Path, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class Refused(Exception):
    """Nothing of the file can be read."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


def load(text: str, environ: Mapping[str, str]) -> Document:
    """Raises `Refused` where the text is not YAML, or too much of it."""
    if len(text) > MAX_CHARACTERS:
        raise Refused(Problem(Place(1, 1), f"the file is longer than {MAX_CHARACTERS:,} characters."))
    try:
        _check_depth(text)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        raise Refused(_explain(error, text)) from error
    except yaml.YAMLError as error:
        raise Refused(Problem(Place(1, 1), f"this is not YAML: {error}")) from error
    return _Builder(environ).build(root)


def _check_depth(text: str) -> None:
    """Before nodes are made: PyYAML makes them by recursion in C, which ends the process when it goes too deep."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise Refused(Problem(_place(event.start_mark), f"values are nested deeper than {MAX_DEPTH} levels."))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _explain(error: yaml.MarkedYAMLError, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = _place(mark) if mark else Place(1, 1)
    said = " ".join(filter(None, (error.context, error.problem)))
    line = text.splitlines()[place.line - 1 : place.line]
    quotes = " A value with ${…} inside { } or [ ] needs quotes." if line and "${" in line[0] else ""
    return Problem(place, f"this is not YAML: {said}.{quotes}")


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1)


class _Builder:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._document = Document()
        self._scalars = SafeConstructor()
        self._count = 0

    def build(self, root: Node | None) -> Document:
        if root is not None:
            self._document.value = self._value(root, ())
        return self._document

    def _value(self, node: Node, path: Path) -> Any:
        self._count += 1
        if self._count > MAX_VALUES or len(path) > MAX_DEPTH:
            raise Refused(Problem(_place(node.start_mark), f"aliases make more than {MAX_VALUES:,} values of this."))
        self._document.values[path] = _place(node.start_mark)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            place = _place(key.start_mark)
            if not isinstance(key, ScalarNode):
                self._complain(place, "a key should be a plain word.")
            elif key.value in found:
                first = self._document.keys[(*path, key.value)].line
                self._complain(place, f"the key {key.value!r} is given twice; the first is on line {first}.")
            else:
                self._document.keys[(*path, key.value)] = place
                found[key.value] = self._value(value, (*path, key.value))
        return found

    def _scalar(self, node: Node, path: Path) -> Any:
        if node.tag == "tag:yaml.org,2002:timestamp":
            return node.value
        try:
            value = self._scalars.construct_object(node)
        except (ConstructorError, ValueError):
            self._complain(_place(node.start_mark), f"values with the tag {node.tag!r} are not read here.")
            return None
        return self._expanded(value, node, path) if isinstance(value, str) else value

    def _expanded(self, text: str, node: Node, path: Path) -> str:
        if "${" not in text:
            return text
        self._document.written[path] = text
        try:
            return expand(text, self._environ)
        except ConfigError as error:
            self._complain(_place(node.start_mark), error.message)
            return text

    def _complain(self, place: Place, text: str) -> None:
        self._document.problems.append(Problem(place, text))
