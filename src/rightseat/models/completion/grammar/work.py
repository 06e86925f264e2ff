"""One schema while it is built: where it stands, how deep, how much it has cost so far.

`build` takes a schema apart in this order: what it refers to, what it combines, the values it lists, its types. Each
of them is a module of its own that gets this `Work` and calls `build` for what is inside.
"""

from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from rightseat.core.errors import Unenforceable
from rightseat.models.completion.grammar import (
    amounts,
    arrays,
    combining,
    endings,
    listing,
    merging,
    objects,
    references,
    strings,
)
from rightseat.models.completion.grammar.keywords import REFUSED, significant
from rightseat.models.completion.grammar.literals import choice
from rightseat.models.completion.grammar.nodes import Choice, Literal, Node, Repeat, Rule, Sequence
from rightseat.models.completion.grammar.numbers import ANY_NUMBER
from rightseat.models.completion.grammar.refusing import Impossible

if TYPE_CHECKING:
    from rightseat.models.completion.grammar.schema import Builder

Schema = dict[str, Any] | bool
BOOLEAN = Choice((Literal("true"), Literal("false")))
BESIDE_VALUES = frozenset({"not", "if", "then", "else", "maxContains"})
"""Refused, except beside `enum` and `const`: those values can be tried out."""
HINTS = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""What a schema without `type` is about."""


class Work:
    def __init__(self, builder: "Builder", root: Schema, where: str) -> None:
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

    def whole(self) -> Node:
        itself = b'"$ref":"#"' in msgspec.json.encode(self.root)
        node = self._referred("#", self.root, self.where) if itself else self.build(self.root, self.where)
        if self._recursive:
            rules = endings.reachable(node, self.builder.rules)
            if endings.endless(rules):
                self.fail(self.where, "$ref", "goes round in a circle that no value can end")
            if endings.circular(rules):
                self.fail(self.where, "$ref", "refers to itself before anything is said")
        return node

    def build(self, schema: Schema, where: str) -> Node:
        if schema is True or schema == {}:
            return self.anything()
        if schema is False:
            self.impossible(where, "false", "lets nothing through")
        self.step()
        depth = self._depth
        self._depth = depth + 1
        if depth > self.bounds.depth:
            self.fail(
                self.where, "properties", f"and `items` lie more than {self.bounds.depth} levels within each other"
            )
        try:
            return self._build(schema, where)
        finally:
            self._depth = depth

    def _build(self, schema: dict[str, Any], where: str) -> Node:
        self.refuse(schema, where)
        if "$ref" in schema:
            return self._reference(schema, where)
        if "allOf" in schema:
            return self.build(merging.flat(self, schema, where), where)
        if "enum" in schema or "const" in schema:
            return listing.build(self, schema, where)
        for keyword in combining.DEPENDENT:
            if keyword in schema:
                return self.build(combining.dependent(schema, keyword), where)
        for keyword in combining.OPTIONS:
            if keyword in schema:
                return combining.options(self, schema, keyword, where)
        return self._typed(schema, where)

    def refuse(self, schema: dict[str, Any], where: str) -> None:
        for key in schema:
            if key in REFUSED and not (key in BESIDE_VALUES and ("enum" in schema or "const" in schema)):
                self.fail(where, key, "cannot be enforced by a grammar; leave it out, or say it in the description")
        if "$id" in schema and schema is not self.root:
            self.fail(where, "$id", "stands inside of a schema, where it changes what every `$ref` means")

    def _reference(self, schema: dict[str, Any], where: str) -> Node:
        if significant(schema).keys() != {"$ref"}:
            return self.build(merging.opened(self, schema, where), where)
        return self._referred(schema["$ref"], self.target(schema["$ref"], where), where)

    def _referred(self, reference: str, target: Schema, where: str) -> Node:
        """A rule, so that what it names may refer to itself."""
        known = self._references.get(reference)
        if known is not None:
            self._recursive = self._recursive or reference in self._open
            return Rule(known)
        name = self._references[reference] = self.builder.new("ref")
        self.builder.rules[name] = Literal("")
        self._open.add(reference)
        self.builder.rules[name] = self.build(target, where)
        self._open.discard(reference)
        return Rule(name)

    def target(self, reference: str, where: str) -> Schema:
        try:
            return references.resolve(self.root, reference)
        except references.Unresolved as error:
            self.fail(where, "$ref", f"{reference!r} {error}")

    def _typed(self, schema: dict[str, Any], where: str) -> Node:
        kinds = schema.get("type")
        if isinstance(kinds, str):
            return self._one_type(kinds, schema, where)
        if kinds is None:
            kinds = [kind for kind, hints in HINTS.items() if any(hint in schema for hint in hints)]
        nodes: list[Node] = []
        failure: Impossible | None = None
        for kind in kinds:
            if kind == "integer" and "number" in kinds:
                continue
            try:
                nodes.append(self._one_type(kind, schema, where))
            except Impossible as error:
                failure = error
        if failure and not nodes:
            raise failure
        return choice(nodes) if nodes else self.anything()

    def _one_type(self, kind: str, schema: dict[str, Any], where: str) -> Node:
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
                return Literal("null")
        return amounts.build(self, kind, schema, where)

    def anything(self) -> Node:
        return self._any(self.bounds.any_depth)

    def _any(self, depth: int) -> Node:
        """Any JSON value of so many levels."""
        string, number = strings.build(self, {}, self.where), self.named("number", ANY_NUMBER)
        options: list[Node] = [string, number, self.shared("boolean", BOOLEAN), Literal("null")]
        if depth:
            inner = self._any(depth - 1)
            entry = Sequence((self.key(), Literal(":"), self.space, inner))
            options.append(self._some("{", entry, "}", self.bounds.entries))
            options.append(self._some("[", inner, "]", self.bounds.items))
        return self.named("any", Choice(tuple(options)))

    def _some(self, left: str, item: Node, right: str, most: int) -> Node:
        more = Repeat(Sequence((Literal(","), self.space, item)), 0, most - 1)
        return Sequence((Literal(left), Repeat(Sequence((item, more)), 0, 1), Literal(right)))

    def key(self) -> Node:
        """A name that is not declared."""
        character = self.shared("char", strings.CHARACTER)
        return self.named("key", Sequence((strings.QUOTE, Repeat(character, 1, 64), strings.QUOTE)))

    def shared(self, name: str, node: Node) -> Rule:
        self.builder.rules[name] = node
        return Rule(name)

    def step(self) -> None:
        self._steps += 1
        if self._steps > self.bounds.size:
            self.fail(self.where, "$ref", f"and combinations make this schema larger than {self.bounds.size} steps")

    def narrow(self, where: str, keyword: str, how: str) -> None:
        self.builder.narrowed[f"{where}: `{keyword}` {how}."] = None

    def fail(self, where: str, keyword: str, problem: str) -> NoReturn:
        raise Unenforceable(f"{where}: `{keyword}` {problem}.")

    def impossible(self, where: str, keyword: str, problem: str) -> NoReturn:
        raise Impossible(f"{where}: `{keyword}` {problem}.")
