"""Builds a grammar from JSON Schemas: every text that it accepts is valid JSON for the schema.

The grammar may be narrower than the schema, never wider: declared properties only, in schema order; bounded strings and
arrays; no white space except one space after `:` and `,`. Unsupported keywords fail by name (`keywords` has the list).
One `GrammarBuilder` serves one request; a schema that fails leaves no rules behind.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jsonschema_rs
import msgspec

from rightseat.core.errors import SchemaNotSupported
from rightseat.json_schema import check_schema
from rightseat.models.completion.grammar import all_of, disjoint, enums, strings
from rightseat.models.completion.grammar.bounds import GrammarBounds
from rightseat.models.completion.grammar.compiler import SchemaCompiler
from rightseat.models.completion.grammar.keywords import classify, select_assertions
from rightseat.models.completion.grammar.nodes import Grammar, LiteralText, Node, Repeat, Rule, Until
from rightseat.models.completion.grammar.prefix_tree import make_literal_choice
from rightseat.models.completion.grammar.protocol import Schema

TOKEN_KINDS = frozenset({"string", "text", "key", "integer", "number", "enum", "boolean"})
"""Kinds of rules that a backend may treat as one token."""


class GrammarBuilder:
    """Collects the rules of one grammar, without duplicates."""

    def __init__(self, bounds: GrammarBounds | None = None) -> None:
        self.bounds = bounds or GrammarBounds()
        self.rules: dict[str, Node] = {"space": Repeat(LiteralText(" "), 0, 1)}
        self.narrowed: dict[str, None] = {}
        """Warnings for the schema's author about constraints that are narrower than the schema."""
        self._names: dict[Node, str] = {}
        self._count = 0

    def value(self, schema: object, where: str) -> Node:
        """Build the JSON text of a valid value. `where` begins every message: "tool 'search': parameters"."""
        with self._undone_on_failure():
            return SchemaCompiler(self, validate_schema(schema, where), where).compile()

    def arguments(self, schema: object, where: str) -> Node:
        """Build the JSON text of a tool's arguments: an object; `{}` without a schema or properties."""
        parameters = validate_schema({} if schema is None else schema, where)
        kind = parameters.get("type", "object") if isinstance(parameters, dict) else "object"
        if parameters is False or (kind != "object" and "object" not in kind):
            raise SchemaNotSupported(f"{where}: `type` is {kind!r}; arguments are an object.")
        whole: dict[str, Any] = {**parameters, "type": "object"} if isinstance(parameters, dict) else {"type": "object"}
        if not select_assertions(whole).keys() - {"type"}:
            whole["properties"] = {}
        with self._undone_on_failure():
            return SchemaCompiler(self, whole, where).compile()

    def text(self, schema: object, where: str, end: str) -> Node | None:
        """Build the characters of a valid string, without quotes and escapes, up to `end`.

        None if the schema also allows other types, which are written as JSON.
        """
        with self._undone_on_failure():
            return build_bare_string(SchemaCompiler(self, validate_schema(schema, where), where), end)

    def rule(self, name: str, node: Node) -> Rule:
        """Add a rule with a fixed name of `a-z`, `0-9` and `-`."""
        if self.rules.get(name, node) != node:
            raise ValueError(f"There is another rule named {name!r}.")
        self.rules[name] = node
        return Rule(name)

    def named(self, kind: str, node: Node) -> Rule:
        """Return a rule for this node, the same one for equal nodes."""
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
        return Grammar(
            root, dict(self.rules), frozenset(name for name in self.rules if name.split("-")[0] in TOKEN_KINDS)
        )

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


def validate_schema(schema: object, where: str) -> Schema:
    """Check the schema against JSON Schema's meta-schema."""
    if not isinstance(schema, dict | bool):
        raise SchemaNotSupported(f"{where}: a schema is an object or a boolean, not {type(schema).__name__}.")
    try:
        msgspec.json.encode(schema)  # fails at Python's recursion limit
    except RecursionError:
        raise SchemaNotSupported(f"{where}: `properties` or `items` are nested too deeply.") from None
    except UnicodeEncodeError:
        raise SchemaNotSupported(f"{where}: a text has a lone surrogate, which is not a character.") from None
    try:
        check_schema(schema)
    except jsonschema_rs.ValidationError as error:
        path = [str(piece) for piece in error.instance_path]
        keyword = next((piece for piece in reversed(path) if classify(piece)), "$schema")
        place = "/".join([where, *path[:-1]])
        raise SchemaNotSupported(f"{place}: `{keyword}` is invalid: {error.message}.") from None
    except ValueError as error:
        raise SchemaNotSupported(f"{where}: `$schema` is invalid: {error}.") from None
    return schema


def build_bare_string(compiler: SchemaCompiler, end: str) -> Node | None:
    """Build a string's characters without quotes; None if the schema also allows other types."""
    schema = all_of.flatten(compiler, compiler.root, compiler.where)
    if (
        not isinstance(schema, dict)
        or disjoint.list_types(schema) != {"string"}
        or "anyOf" in schema
        or "oneOf" in schema
    ):
        return None
    compiler.check_keywords(schema, compiler.where)
    if (values := enums.list_values(schema)) is not None:
        values = enums.filter_valid(compiler, schema, values, compiler.where)
        if any((value + end).find(end) < len(value) for value in values):
            compiler.fail(compiler.where, "enum", f"has a value with {end!r} in it, which ends it")
        return make_literal_choice(values)
    least, most = strings.read_length(compiler, schema, compiler.where)
    pattern = strings.find_pattern(compiler, schema, compiler.where)
    if pattern is not None:
        return strings.exclude_end(
            strings.build_pattern(compiler, schema, pattern, least, most, compiler.where, in_json=False), end
        )
    if least:
        return Repeat(strings.exclude_first(end), least, most)
    return Until(end, most if "maxLength" in schema else None)
