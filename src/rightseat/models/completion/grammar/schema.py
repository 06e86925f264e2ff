"""JSON Schema → nodes: the JSON text of every value that is generated fits the schema.

The grammar may be narrower than the schema, never wider: properties in the schema's order, declared ones only, strings
and arrays with an end, no white space but one space after `:` and `,`. What cannot be held is refused by name
(`keywords` has the list). One `Builder` serves one request; each schema is built by itself, and one that is refused
leaves nothing behind.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jsonschema_rs
import msgspec

from rightseat.core.errors import Unenforceable
from rightseat.core.json_schema import check_schema
from rightseat.models.completion.grammar import disjoint, listing, merging, strings
from rightseat.models.completion.grammar.bounds import Bounds
from rightseat.models.completion.grammar.keywords import column, significant
from rightseat.models.completion.grammar.literals import one_of
from rightseat.models.completion.grammar.nodes import Grammar, Literal, Node, Repeat, Rule, Until
from rightseat.models.completion.grammar.work import Work

Schema = dict[str, Any] | bool


TOKENS = frozenset({"string", "text", "key", "integer", "number", "enum", "boolean"})
"""Kinds of rules that are read as one piece."""


class Builder:
    """The rules of one grammar, each kept once."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self.rules: dict[str, Node] = {"space": Repeat(Literal(" "), 0, 1)}
        self.narrowed: dict[str, None] = {}
        """What is narrower than whoever wrote the schema would expect, in sentences for them; each once."""
        self._names: dict[Node, str] = {}
        self._count = 0

    def value(self, schema: object, where: str) -> Node:
        """The JSON text of a value that fits. `where` begins every message about it: "tool 'search': parameters"."""
        with self._undone_on_failure():
            return Work(self, checked(schema, where), where).whole()

    def arguments(self, schema: object, where: str) -> Node:
        """The JSON text of a tool's arguments: an object; without a schema, or without properties in it, `{}`."""
        parameters = checked({} if schema is None else schema, where)
        kind = parameters.get("type", "object") if isinstance(parameters, dict) else "object"
        if parameters is False or (kind != "object" and "object" not in kind):
            raise Unenforceable(f"{where}: `type` is {kind!r}; arguments are an object.")
        whole: dict[str, Any] = {**parameters, "type": "object"} if isinstance(parameters, dict) else {"type": "object"}
        if not significant(whole).keys() - {"type"}:
            whole["properties"] = {}
        with self._undone_on_failure():
            return Work(self, whole, where).whole()

    def text(self, schema: object, where: str, end: str) -> Node | None:
        """The characters of a string that fits, without quotes and escapes, up to `end`.

        None where the schema takes other things than strings: they are written as JSON.
        """
        with self._undone_on_failure():
            return bare(Work(self, checked(schema, where), where), end)

    def rule(self, name: str, node: Node) -> Rule:
        """A rule with a name of its own, `a-z`, `0-9` and `-`."""
        if self.rules.get(name, node) != node:
            raise ValueError(f"There is another rule named {name!r}.")
        self.rules[name] = node
        return Rule(name)

    def named(self, kind: str, node: Node) -> Rule:
        """A rule for this node, the same one for equal nodes."""
        if isinstance(node, Rule):
            return node
        name = self._names.get(node)
        if name is None:
            name = self.new(kind)
            self._names[node] = name
            self.rules[name] = node
        return Rule(name)

    def new(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-{self._count}"

    def grammar(self, root: Node) -> Grammar:
        return Grammar(root, dict(self.rules), frozenset(name for name in self.rules if name.split("-")[0] in TOKENS))

    @contextmanager
    def _undone_on_failure(self) -> Iterator[None]:
        known, narrowed = len(self.rules), dict(self.narrowed)
        try:
            yield
        except BaseException:
            self.narrowed = narrowed
            while len(self.rules) > known:
                _, node = self.rules.popitem()
                self._names.pop(node, None)
            raise


def checked(schema: object, where: str) -> Schema:
    """A schema by JSON Schema's own rules."""
    if not isinstance(schema, dict | bool):
        raise Unenforceable(f"{where}: a schema is an object or a boolean, not {type(schema).__name__}.")
    try:
        msgspec.json.encode(schema)  # which goes as deep as Python does
    except RecursionError:
        raise Unenforceable(f"{where}: `properties` or `items` lie within each other too deeply.") from None
    except UnicodeEncodeError:
        raise Unenforceable(f"{where}: a text has half of a surrogate pair in it, which is no character.") from None
    try:
        check_schema(schema)
    except jsonschema_rs.ValidationError as error:
        path = [str(piece) for piece in error.instance_path]
        keyword = next((piece for piece in reversed(path) if column(piece)), "$schema")
        place = "/".join([where, *path[:-1]])
        raise Unenforceable(f"{place}: `{keyword}` is wrong: {error.message}.") from None
    except ValueError as error:
        raise Unenforceable(f"{where}: `$schema` is wrong: {error}.") from None
    return schema


def bare(work: Work, end: str) -> Node | None:
    """A string's characters as they are; None where it may be something else."""
    schema = merging.flat(work, work.root, work.where)
    if not isinstance(schema, dict) or disjoint.kinds(schema) != {"string"} or "anyOf" in schema or "oneOf" in schema:
        return None
    work.refuse(schema, work.where)
    if (values := listing.listed(schema)) is not None:
        values = listing.fitting(work, schema, values, work.where)
        if any((value + end).find(end) < len(value) for value in values):
            work.fail(work.where, "enum", f"has a value with {end!r} in it, which ends it")
        return one_of(values)
    least, most = strings.length(work, schema, work.where)
    pattern = strings.expected(work, schema, work.where)
    if pattern is not None:
        return strings.before(strings.fitted(work, schema, pattern, least, most, work.where, in_json=False), end)
    if least:
        return Repeat(strings.without(end), least, most)
    return Until(end, most if "maxLength" in schema else None)
