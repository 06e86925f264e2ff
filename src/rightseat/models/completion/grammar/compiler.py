"""Compiles one JSON Schema to grammar nodes, within limits on depth and steps.

`build` handles references first, then combinations, listed values and types. Each has its own module, which receives
the compiler as `protocol.Compiler` and calls `build` for nested schemas.
"""

from typing import Any, NoReturn, Protocol

import msgspec

from rightseat.core.errors import SchemaNotSupported
from rightseat.models.completion.grammar import (
    all_of,
    any_of,
    arrays,
    enums,
    numeric_keywords,
    objects,
    recursion,
    references,
    strings,
)
from rightseat.models.completion.grammar.bounds import GrammarBounds
from rightseat.models.completion.grammar.errors import UnsatisfiableSchema
from rightseat.models.completion.grammar.keywords import REFUSED, select_assertions
from rightseat.models.completion.grammar.nodes import Choice, Concat, LiteralText, Node, Repeat, Rule
from rightseat.models.completion.grammar.numbers import ANY_NUMBER
from rightseat.models.completion.grammar.prefix_tree import make_choice
from rightseat.models.completion.grammar.protocol import Schema

BOOLEAN = Choice((LiteralText("true"), LiteralText("false")))
CHECKED_WITH_VALUES = frozenset({"not", "if", "then", "else", "maxContains"})
"""Unsupported, except together with `enum` or `const`, whose values can be validated one by one."""
TYPE_HINTS = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""Keywords that imply a type for schemas without `type`."""


class RuleCollector(Protocol):
    """The grammar that a compiled schema adds its rules to."""

    bounds: GrammarBounds
    rules: dict[str, Node]
    narrowed: dict[str, None]

    def named(self, kind: str, node: Node) -> Rule:
        """Return a rule for this node, the same one for equal nodes."""

    def new(self, kind: str) -> str:
        """Return an unused name."""


class SchemaCompiler:
    def __init__(self, builder: RuleCollector, root: Schema, where: str) -> None:
        self.builder = builder
        self.bounds = builder.bounds
        self.root = root
        self.where = where
        self.space: Node = Rule("space")
        self.named = builder.named
        self._references: dict[str, str] = {}
        self._open: set[str] = set()
        self._recursive = False
        self._depth = 0
        self._steps = 0

    def compile(self) -> Node:
        itself = b'"$ref":"#"' in msgspec.json.encode(self.root)
        node = self._build_reference_rule("#", self.root, self.where) if itself else self.build(self.root, self.where)
        if self._recursive:
            rules = recursion.find_reachable(node, self.builder.rules)
            if recursion.has_endless_rule(rules):
                self.fail(self.where, "$ref", "is endlessly recursive")
            if recursion.has_left_recursion(rules):
                self.fail(self.where, "$ref", "refers to itself before it generates any character")
        return node

    def build(self, schema: Schema, where: str) -> Node:
        if schema is True or schema == {}:
            return self.build_any()
        if schema is False:
            self.fail_unsatisfiable(where, "false", "allows no value")
        self.count_step()
        depth = self._depth
        self._depth = depth + 1
        if depth > self.bounds.depth:
            self.fail(self.where, "properties", f"and `items` are nested more than {self.bounds.depth} levels deep")
        try:
            return self._build(schema, where)
        finally:
            self._depth = depth

    def _build(self, schema: dict[str, Any], where: str) -> Node:
        self.check_keywords(schema, where)
        if "$ref" in schema:
            return self._build_reference(schema, where)
        if "allOf" in schema:
            return self.build(all_of.flatten(self, schema, where), where)
        if "enum" in schema or "const" in schema:
            return enums.build(self, schema, where)
        for keyword in any_of.DEPENDENCY_KEYWORDS:
            if keyword in schema:
                return self.build(any_of.expand_dependencies(schema, keyword), where)
        for keyword in any_of.OPTION_KEYWORDS:
            if keyword in schema:
                return any_of.build_options(self, schema, keyword, where)
        return self._build_types(schema, where)

    def check_keywords(self, schema: dict[str, Any], where: str) -> None:
        for key in schema:
            if key in REFUSED and not (key in CHECKED_WITH_VALUES and ("enum" in schema or "const" in schema)):
                self.fail(where, key, "cannot be enforced by a grammar; remove it, or describe it in the description")
        if "$id" in schema and schema is not self.root:
            self.fail(where, "$id", "is inside a schema, where it changes the base of every `$ref`")

    def _build_reference(self, schema: dict[str, Any], where: str) -> Node:
        if select_assertions(schema).keys() != {"$ref"}:
            return self.build(all_of.resolve_head(self, schema, where), where)
        return self._build_reference_rule(schema["$ref"], self.resolve(schema["$ref"], where), where)

    def _build_reference_rule(self, reference: str, target: Schema, where: str) -> Node:
        """Return a rule, so that the target can refer to itself."""
        known = self._references.get(reference)
        if known is not None:
            self._recursive = self._recursive or reference in self._open
            return Rule(known)
        name = self._references[reference] = self.builder.new("ref")
        self.builder.rules[name] = LiteralText("")
        self._open.add(reference)
        self.builder.rules[name] = self.build(target, where)
        self._open.discard(reference)
        return Rule(name)

    def resolve(self, reference: str, where: str) -> Schema:
        try:
            return references.resolve(self.root, reference)
        except references.UnresolvedReference as error:
            self.fail(where, "$ref", f"{reference!r} {error}")

    def _build_types(self, schema: dict[str, Any], where: str) -> Node:
        kinds = schema.get("type")
        if isinstance(kinds, str):
            return self._build_type(kinds, schema, where)
        if kinds is None:
            kinds = [kind for kind, hints in TYPE_HINTS.items() if any(hint in schema for hint in hints)]
        nodes: list[Node] = []
        failure: UnsatisfiableSchema | None = None
        for kind in kinds:
            if kind == "integer" and "number" in kinds:
                continue
            try:
                nodes.append(self._build_type(kind, schema, where))
            except UnsatisfiableSchema as error:
                failure = error
        if failure and not nodes:
            raise failure
        return make_choice(nodes) if nodes else self.build_any()

    def _build_type(self, kind: str, schema: dict[str, Any], where: str) -> Node:
        match kind:
            case "string":
                return strings.build(self, schema, where)
            case "object":
                return objects.build(self, schema, where)
            case "array":
                return arrays.build(self, schema, where)
            case "boolean":
                return self.shared("boolean", BOOLEAN)
            case "null":
                return LiteralText("null")
        return numeric_keywords.build(self, kind, schema, where)

    def build_any(self) -> Node:
        return self._build_any(self.bounds.any_depth)

    def _build_any(self, depth: int) -> Node:
        """Return any JSON value with up to `depth` levels."""
        string, number = strings.build(self, {}, self.where), self.named("number", ANY_NUMBER)
        options: list[Node] = [string, number, self.shared("boolean", BOOLEAN), LiteralText("null")]
        if depth:
            inner = self._build_any(depth - 1)
            entry = Concat((self.build_key(), LiteralText(":"), self.space, inner))
            options.append(self._build_list("{", entry, "}", self.bounds.entries))
            options.append(self._build_list("[", inner, "]", self.bounds.items))
        return self.named("any", Choice(tuple(options)))

    def _build_list(self, left: str, item: Node, right: str, most: int) -> Node:
        more = Repeat(Concat((LiteralText(","), self.space, item)), 0, most - 1)
        return Concat((LiteralText(left), Repeat(Concat((item, more)), 0, 1), LiteralText(right)))

    def build_key(self) -> Node:
        """Return the key of an undeclared member."""
        character = self.shared("char", strings.CHARACTER)
        return self.named("key", Concat((strings.QUOTE, Repeat(character, 1, 64), strings.QUOTE)))

    def shared(self, name: str, node: Node) -> Rule:
        self.builder.rules[name] = node
        return Rule(name)

    def count_step(self) -> None:
        self._steps += 1
        if self._steps > self.bounds.size:
            self.fail(self.where, "$ref", f"and combinations make this schema larger than {self.bounds.size} steps")

    def narrow(self, where: str, keyword: str, how: str) -> None:
        self.builder.narrowed[f"{where}: `{keyword}` {how}."] = None

    def fail(self, where: str, keyword: str, problem: str) -> NoReturn:
        raise SchemaNotSupported(f"{where}: `{keyword}` {problem}.")

    def fail_unsatisfiable(self, where: str, keyword: str, problem: str) -> NoReturn:
        raise UnsatisfiableSchema(f"{where}: `{keyword}` {problem}.")
