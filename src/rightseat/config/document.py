"""Parses YAML into values with the line and column of each.

Values are built from YAML nodes, because nodes have positions. Duplicate keys, tags, and aliases that multiply without
bounds are refused.
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

MAX_CHARS = 1_000_000
MAX_DEPTH = 40
MAX_VALUES = 20_000

MERGE_TAG = "tag:yaml.org,2002:merge"
PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null"))

KeyPath = tuple[str | int, ...]
Fault = Literal["syntax", "escape", "depth", "aliases", "key", "twice", "tag", "value"]


class Place(NamedTuple):
    """A position in the file, counted from 1."""

    line: int
    column: int


ARGUMENT = Place(0, 0)
"""The position of a value that is not in a file, but an argument in Python."""


class Problem(NamedTuple):
    place: Place
    text: str
    fault: Fault = "value"
    path: KeyPath = ()


@dataclass(frozen=True, slots=True)
class YamlLimits:
    """The maximum numbers of characters, levels and values, and whether aliases are allowed."""

    characters: int = MAX_CHARS
    depth: int = MAX_DEPTH
    values: int = MAX_VALUES
    aliases: bool = True


@dataclass(slots=True)
class YamlDocument:
    """The values of a file. `written` has those with a `${…}`, as they are in the file."""

    value: Any = None
    keys: dict[KeyPath, Place] = field(default_factory=dict)
    values: dict[KeyPath, Place] = field(default_factory=dict)
    written: dict[KeyPath, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    arguments: frozenset[str] = frozenset()
    """The top-level keys whose values are arguments in Python."""

    def replace_keys(self, arguments: Mapping[str, Any]) -> None:
        """Set top-level keys to values that have no position."""
        if self.value is not None and not isinstance(self.value, dict):
            return  # reported by whoever reads the file
        self.value = {**(self.value or {}), **arguments}
        self.arguments = frozenset(arguments)
        for places in (self.keys, self.values, self.written):
            for path in [path for path in places if path and path[0] in arguments]:
                del places[path]
        for name, value in arguments.items():
            self._place(value, (name,))
        self.problems = [problem for problem in self.problems if not problem.path or problem.path[0] not in arguments]

    def _place(self, value: Any, path: KeyPath) -> None:
        self.values[path] = ARGUMENT
        items = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
        )
        for step, one in items:
            self._place(one, (*path, step))


class UnreadableDocument(Exception):
    """The file cannot be parsed at all."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


def load(text: str, environ: Mapping[str, str] | None, bounds: YamlLimits = YamlLimits()) -> YamlDocument:  # noqa: B008
    """Raises `UnreadableDocument` if the text is not YAML or too large. Without `environ` a `${…}` is not expanded."""
    if len(text) > bounds.characters:
        raise UnreadableDocument(
            Problem(Place(1, 1), f"the file is longer than {bounds.characters:,} characters.", "depth")
        )
    try:
        _check_events(text, bounds)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        raise UnreadableDocument(_explain(error, text)) from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise UnreadableDocument(Problem(Place(1, 1), f"this is not YAML: {error}", "syntax")) from error
    return _Builder(environ, bounds).build(root)


def _check_events(text: str, bounds: YamlLimits) -> None:
    """Called before nodes are built: PyYAML builds them by recursion in C, which kills the process if too deep."""
    depth = count = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > bounds.depth:
                message = f"values are nested deeper than {bounds.depth} levels."
                raise UnreadableDocument(Problem(_place(event.start_mark), message, "depth"))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent) and not bounds.aliases:
            message = f"aliases are not allowed here: write the value of *{event.anchor} out."
            raise UnreadableDocument(Problem(_place(event.start_mark), message, "aliases"))
        if not bounds.aliases and not isinstance(event, yaml.CollectionEndEvent):
            count += 1
            if count > bounds.values:
                message = f"there are more than {bounds.values:,} values from here on: divide the file."
                raise UnreadableDocument(Problem(_place(event.start_mark), message, "depth"))


def _explain(error: yaml.MarkedYAMLError, text: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = _place(mark) if mark else Place(1, 1)
    message = " ".join(filter(None, (error.context, error.problem)))
    line = text.splitlines()[place.line - 1 : place.line]
    quotes = " A value with ${…} inside { } or [ ] needs quotes." if line and "${" in line[0] else ""
    tabs = " Indent with spaces: there is a tab." if line and "\t" in line[0][: place.column] else ""
    fault: Fault = "escape" if error.problem and "unknown escape" in error.problem else "syntax"
    return Problem(place, f"this is not YAML: {message}.{quotes}{tabs}", fault)


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1)


class _Builder:
    def __init__(self, environ: Mapping[str, str] | None, bounds: YamlLimits) -> None:
        self._environ = environ
        self._bounds = bounds
        self._document = YamlDocument()
        self._scalars = SafeConstructor()
        self._count = 0

    def build(self, root: Node | None) -> YamlDocument:
        if root is not None:
            self._document.value = self._value(root, ())
        return self._document

    def _value(self, node: Node, path: KeyPath) -> Any:
        self._check_count(node, len(path))
        self._document.values[path] = _place(node.start_mark)
        if isinstance(node, MappingNode | SequenceNode) and node.tag not in PLAIN_TAGS:
            self._report_tag(node, path)
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _check_count(self, node: Node, depth: int) -> None:
        """Aliases can multiply values, and can contain themselves."""
        self._count += 1
        if self._count > self._bounds.values or depth > self._bounds.depth:
            message = f"aliases expand this to more than {self._bounds.values:,} values."
            raise UnreadableDocument(Problem(_place(node.start_mark), message, "aliases"))

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            place = _place(key.start_mark)
            if key.tag == MERGE_TAG:
                continue
            if not isinstance(key, ScalarNode):
                self._report(place, "a key must be a plain scalar.", "key", path)
            elif key.value in found:
                first = self._document.keys[(*path, key.value)].line
                message = f"the key {key.value!r} is given twice; the first is on line {first}."
                self._report(place, message, "twice", (*path, key.value))
            else:
                self._document.keys[(*path, key.value)] = place
                found[key.value] = self._value(value, (*path, key.value))
        for key, value in self._merged_pairs(node, len(path)):
            if key.value not in found:
                self._document.keys[(*path, key.value)] = _place(key.start_mark)
                found[key.value] = self._value(value, (*path, key.value))
        return found

    def _merged_pairs(self, node: MappingNode, depth: int) -> Iterator[tuple[ScalarNode, Node]]:
        """The pairs that `<<` merges from one mapping or several; the first to set a key wins."""
        self._check_count(node, depth)
        for key, value in node.value:
            if key.tag != MERGE_TAG:
                continue
            for source in value.value if isinstance(value, SequenceNode) else [value]:
                if not isinstance(source, MappingNode):
                    self._report(_place(key.start_mark), "`<<` takes a mapping, or a list of them.", "key", ())
                    continue
                own = [pair for pair in source.value if isinstance(pair[0], ScalarNode) and pair[0].tag != MERGE_TAG]
                yield from own
                yield from self._merged_pairs(source, depth + 1)

    def _scalar(self, node: Node, path: KeyPath) -> Any:
        if node.tag == "tag:yaml.org,2002:timestamp":
            return node.value
        try:
            value = self._scalars.construct_object(node)
        except (ConstructorError, ValueError):
            self._report_tag(node, path)
            return None
        if isinstance(value, bytes):
            self._report_tag(node, path)
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._report(_place(node.start_mark), f"{node.value} is not a finite number.", "value", path)
            return None
        return self._expand(value, node, path) if isinstance(value, str) else value

    def _expand(self, text: str, node: Node, path: KeyPath) -> str:
        if "${" not in text or self._environ is None:
            return text
        self._document.written[path] = text
        try:
            return expand(text, self._environ)
        except ConfigError as error:
            self._report(_place(node.start_mark), error.message, "value", path)
            return text

    def _report_tag(self, node: Node, path: KeyPath) -> None:
        message = f"the tag {node.tag!r} is not supported."
        self._report(_place(node.start_mark), message, "tag", path)

    def _report(self, place: Place, text: str, fault: Fault, path: KeyPath) -> None:
        self._document.problems.append(Problem(place, text, fault, path))
