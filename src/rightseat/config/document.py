"""YAML → values, and where each of them stands.

Built from YAML's nodes and not by a loader, because nodes know their line and column. A key given twice, a tag, and
aliases that multiply without bounds are refused.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from rightseat.config.variables import expand
from rightseat.core.errors import ConfigError

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 40
MAX_VALUES = 20_000

MERGE_TAG = "tag:yaml.org,2002:merge"
PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null"))

Path = tuple[str | int, ...]
Fault = Literal["syntax", "escape", "depth", "aliases", "key", "twice", "tag", "value"]


class Place(NamedTuple):
    """Counted from 1."""

    line: int
    column: int


class Problem(NamedTuple):
    place: Place
    text: str
    fault: Fault = "value"
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many characters, levels and values are read."""

    characters: int = MAX_CHARACTERS
    depth: int = MAX_DEPTH
    values: int = MAX_VALUES


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


def load(text: str, environ: Mapping[str, str] | None, bounds: Bounds = Bounds()) -> Document:  # noqa: B008
    """Raises `Refused` where the text is not YAML, or too much of it. Without `environ` a `${…}` stays as it is."""
    if len(text) > bounds.characters:
        raise Refused(Problem(Place(1, 1), f"the file is longer than {bounds.characters:,} characters.", "depth"))
    try:
        _check_depth(text, bounds.depth)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        raise Refused(_explain(error, text)) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise Refused(Problem(Place(1, 1), f"this is not YAML: {error}", "syntax")) from error
    return _Builder(environ, bounds).build(root)


def _check_depth(text: str, most: int) -> None:
    """Before nodes are made: PyYAML makes them by recursion in C, which ends the process when it goes too deep."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > most:
                said = f"values are nested deeper than {most} levels."
                raise Refused(Problem(_place(event.start_mark), said, "depth"))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _explain(error: yaml.MarkedYAMLError, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = _place(mark) if mark else Place(1, 1)
    said = " ".join(filter(None, (error.context, error.problem)))
    line = text.splitlines()[place.line - 1 : place.line]
    quotes = " A value with ${…} inside { } or [ ] needs quotes." if line and "${" in line[0] else ""
    tabs = " Indent with spaces: there is a tab." if line and "\t" in line[0][: place.column] else ""
    fault: Fault = "escape" if error.problem and "unknown escape" in error.problem else "syntax"
    return Problem(place, f"this is not YAML: {said}.{quotes}{tabs}", fault)


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1)


class _Builder:
    def __init__(self, environ: Mapping[str, str] | None, bounds: Bounds) -> None:
        self._environ = environ
        self._bounds = bounds
        self._document = Document()
        self._scalars = SafeConstructor()
        self._count = 0

    def build(self, root: Node | None) -> Document:
        if root is not None:
            self._document.value = self._value(root, ())
        return self._document

    def _value(self, node: Node, path: Path) -> Any:
        self._check_count(node, len(path))
        self._document.values[path] = _place(node.start_mark)
        if isinstance(node, MappingNode | SequenceNode) and node.tag not in PLAIN_TAGS:
            self._complain_of_tag(node, path)
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _check_count(self, node: Node, depth: int) -> None:
        """Aliases make many values of few, and some hold themselves."""
        self._count += 1
        if self._count > self._bounds.values or depth > self._bounds.depth:
            said = f"aliases make more than {self._bounds.values:,} values of this."
            raise Refused(Problem(_place(node.start_mark), said, "aliases"))

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            place = _place(key.start_mark)
            if key.tag == MERGE_TAG:
                continue
            if not isinstance(key, ScalarNode):
                self._complain(place, "a key should be a plain word.", "key", path)
            elif key.value in found:
                first = self._document.keys[(*path, key.value)].line
                said = f"the key {key.value!r} is given twice; the first is on line {first}."
                self._complain(place, said, "twice", (*path, key.value))
            else:
                self._document.keys[(*path, key.value)] = place
                found[key.value] = self._value(value, (*path, key.value))
        for key, value in self._merged(node, len(path)):
            if key.value not in found:
                self._document.keys[(*path, key.value)] = _place(key.start_mark)
                found[key.value] = self._value(value, (*path, key.value))
        return found

    def _merged(self, node: MappingNode, depth: int) -> Iterator[tuple[ScalarNode, Node]]:
        """What `<<` brings in: the pairs of one mapping or of several, the first to say a key first."""
        self._check_count(node, depth)
        for key, value in node.value:
            if key.tag != MERGE_TAG:
                continue
            for source in value.value if isinstance(value, SequenceNode) else [value]:
                if not isinstance(source, MappingNode):
                    self._complain(_place(key.start_mark), "`<<` takes a mapping, or a list of them.", "key", ())
                    continue
                own = [pair for pair in source.value if isinstance(pair[0], ScalarNode) and pair[0].tag != MERGE_TAG]
                yield from own
                yield from self._merged(source, depth + 1)

    def _scalar(self, node: Node, path: Path) -> Any:
        if node.tag == "tag:yaml.org,2002:timestamp":
            return node.value
        try:
            value = self._scalars.construct_object(node)
        except (ConstructorError, ValueError):
            self._complain_of_tag(node, path)
            return None
        if isinstance(value, bytes):
            self._complain_of_tag(node, path)
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._complain(_place(node.start_mark), f"{node.value} is no number that can be sent.", "value", path)
            return None
        return self._expanded(value, node, path) if isinstance(value, str) else value

    def _expanded(self, text: str, node: Node, path: Path) -> str:
        if "${" not in text or self._environ is None:
            return text
        self._document.written[path] = text
        try:
            return expand(text, self._environ)
        except ConfigError as error:
            self._complain(_place(node.start_mark), error.message, "value", path)
            return text

    def _complain_of_tag(self, node: Node, path: Path) -> None:
        said = f"values with the tag {node.tag!r} are not read here."
        self._complain(_place(node.start_mark), said, "tag", path)

    def _complain(self, place: Place, text: str, fault: Fault, path: Path) -> None:
        self._document.problems.append(Problem(place, text, fault, path))
