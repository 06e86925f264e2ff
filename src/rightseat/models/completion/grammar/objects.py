"""Compiles objects: members in schema order, each once, without a grammar that doubles with each optional member.

some required      (a ",")? b ("," c)?          an optional member includes its comma
none required      a tail1 | b tail2 | c        tail1 is ("," b)? tail2, a rule of its own
counted            a rule for each place and each number of members so far
"""

from collections.abc import Callable
from typing import Any

import jsonschema_rs
import msgspec

from rightseat.json_schema import SchemaValidator
from rightseat.models.completion.grammar import references, strings
from rightseat.models.completion.grammar.all_of import matches
from rightseat.models.completion.grammar.nodes import Concat, LiteralText, Node, Repeat
from rightseat.models.completion.grammar.prefix_tree import make_choice
from rightseat.models.completion.grammar.protocol import Compiler

EMPTY = LiteralText("")
MAX_COUNTED_RULES = 2_000
"""Maximum number of rules for one object whose members are counted."""


class Member(msgspec.Struct, frozen=True):
    node: Node
    required: bool


def build(compiler: Compiler, schema: dict[str, Any], where: str) -> Node:
    declared = list_declarations(compiler, schema, where)
    least, most = int(schema.get("minProperties", 0)), schema.get("maxProperties")
    if most is not None and most < least:
        compiler.fail(where, "maxProperties", f"is {most}, below the minProperties {least}: no object fits")
    if not declared and allows_undeclared(schema):
        return build_entries(compiler, schema, least, most, where)
    required = set(schema.get("required", ()))
    members = [member(compiler, name, inner, name in required, where) for name, inner in declared.items()]
    if least > len(members):
        compiler.fail(where, "minProperties", f"is {least}, and {len(members)} properties are declared")
    if most is not None and most < len(required):
        compiler.fail(where, "maxProperties", f"is {most}, and {len(required)} properties are required")
    inside = join_members(compiler, members, least, len(members) if most is None else int(most), where, "minProperties")
    return compiler.named("object", Concat((LiteralText("{"), inside, LiteralText("}"))))


def allows_undeclared(schema: dict[str, Any]) -> bool:
    """Whether undeclared members are allowed."""
    if schema.get("unevaluatedProperties") is False and "additionalProperties" not in schema:
        return "patternProperties" in schema
    if "properties" in schema and not schema.get("required"):
        return "additionalProperties" in schema and schema["additionalProperties"] is not False
    return schema.get("additionalProperties", True) is not False or "patternProperties" in schema


def get_undeclared_schema(schema: dict[str, Any]) -> Any:
    """Return the schema of undeclared members."""
    return schema.get("additionalProperties", schema.get("unevaluatedProperties", True))


def list_declarations(compiler: Compiler, schema: dict[str, Any], where: str) -> dict[str, Any]:
    """Return every member that may be generated, by name; forbidden optional members are left out."""
    declared = dict(schema.get("properties", {}))
    required = dict.fromkeys(schema.get("required", ()))
    rules: dict[str, Any] = schema.get("patternProperties", {})
    for name in required:
        if name not in declared:
            known = any(matches(pattern, name) for pattern in rules)
            declared[name] = True if known else get_undeclared_schema(schema)
    for pattern, rule in rules.items():
        for name in [name for name in declared if matches(pattern, name)]:
            declared[name] = {"allOf": [declared[name], rule]} if declared[name] is not False else False
    if "propertyNames" in schema:
        allowed = build_name_check(compiler, schema["propertyNames"], where)
        declared = {name: inner if allowed(name) else False for name, inner in declared.items()}
    for name in required:
        if declared[name] is False:
            compiler.fail_unsatisfiable(where, "required", f"asks for {name!r}, which other keywords forbid")
    return {name: inner for name, inner in declared.items() if inner is not False}


def build_name_check(compiler: Compiler, schema: Any, where: str) -> Callable[[str], bool]:
    try:
        return SchemaValidator(references.make_standalone(compiler.root, schema)).is_valid
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        compiler.fail(where, "propertyNames", f"cannot be used by itself: {str(error).partition(chr(10))[0]}")


def member(compiler: Compiler, name: str, schema: Any, required: bool, where: str) -> Member:
    key = LiteralText(strings.quote(name) + ":")
    return Member(Concat((key, compiler.space, compiler.build(schema, f"{where}/properties/{name}"))), required)


def join_members(compiler: Compiler, members: list[Member], least: int, most: int, where: str, keyword: str) -> Node:
    """Join `least` to `most` of the members with commas, in order."""
    first = next((place for place, member in enumerate(members) if member.required), None)
    needed = sum(member.required for member in members)
    if most < len(members) or least > max(needed, 1 if first is None else 0):
        return _build_counted(compiler, members, least, most, where, keyword)
    if first is None:
        inside = _build_optional(compiler, members)
        return inside if least else Repeat(inside, 0, 1) if members else EMPTY
    comma = (LiteralText(","), compiler.space)
    parts: list[Node] = [Repeat(Concat((member.node, *comma)), 0, 1) for member in members[:first]]
    parts.append(members[first].node)
    for member in members[first + 1 :]:
        behind = Concat((*comma, member.node))
        parts.append(behind if member.required else Repeat(behind, 0, 1))
    return Concat(tuple(parts))


def _build_optional(compiler: Compiler, members: list[Member]) -> Node:
    """Allow any of the members, at least one."""
    tail: Node = EMPTY
    options: list[Node] = []
    for member in reversed(members):
        options.append(Concat((member.node, tail)) if tail is not EMPTY else member.node)
        behind = Repeat(Concat((LiteralText(","), compiler.space, member.node)), 0, 1)
        tail = compiler.named("tail", Concat((behind, tail)) if tail is not EMPTY else behind)
    return make_choice(options[::-1]) if options else EMPTY


def _build_counted(compiler: Compiler, members: list[Member], least: int, most: int, where: str, keyword: str) -> Node:
    if len(members) * (most + 1) > MAX_COUNTED_RULES:
        compiler.fail(where, keyword, f"counts among {len(members)}; that many cannot be counted")
    behind: dict[int, Node | None] = {count: EMPTY if least <= count <= most else None for count in range(most + 2)}
    for member in reversed(members):
        before: dict[int, Node | None] = {}
        for count in range(most + 1):
            ways: list[Node] = []
            rest = behind[count + 1] if count < most else None
            if rest is not None:
                comma: tuple[Node, ...] = (LiteralText(","), compiler.space) if count else ()
                ways.append(Concat((*comma, member.node, *(() if rest is EMPTY else (rest,)))))
            skipped = behind[count]
            if not member.required and skipped is not None:
                ways.append(skipped)
            before[count] = compiler.named("rest", make_choice(ways)) if ways else None
        behind = {**before, most + 1: None}
    start = behind[0]
    if start is None:
        compiler.fail_unsatisfiable(where, keyword, "and the required members cannot be satisfied together")
    return start


def build_entries(compiler: Compiler, schema: dict[str, Any], least: int, most: int | None, where: str) -> Node:
    """Build an object with undeclared members."""
    limit = compiler.bounds.most_entries
    most = max(compiler.bounds.entries, least) if most is None else min(int(most), limit)
    if least > 1:
        compiler.fail(where, "minProperties", f"is {least}, and undeclared names could be repeated")
    key, inner = _build_entry(compiler, schema, where)
    if inner is False or most == 0:
        if least:
            compiler.fail_unsatisfiable(where, "minProperties", f"is {least}, and no property is allowed")
        return LiteralText("{}")
    if inner is True:
        value: Node = compiler.build_any()
    else:
        value = compiler.build(inner, f"{where}/additionalProperties")
    entry = compiler.named("entry", Concat((key, LiteralText(":"), compiler.space, value)))
    more = Repeat(Concat((LiteralText(","), compiler.space, entry)), 0, most - 1)
    inside: Node = Concat((entry, more))
    return compiler.named(
        "map", Concat((LiteralText("{"), inside if least else Repeat(inside, 0, 1), LiteralText("}")))
    )


def _build_entry(compiler: Compiler, schema: dict[str, Any], where: str) -> tuple[Node, Any]:
    rules: dict[str, Any] = schema.get("patternProperties", {})
    names = schema.get("propertyNames", True)
    if len(rules) > 1 or (rules and names is not True):
        compiler.fail(
            where, "patternProperties", "has several patterns, or `propertyNames` beside it; one can be enforced"
        )
    for pattern, inner in rules.items():
        return compiler.build({"type": "string", "pattern": pattern}, f"{where}/patternProperties"), inner
    inner = get_undeclared_schema(schema)
    if names is True:
        return compiler.build_key(), inner
    return compiler.build({"allOf": [{"type": "string"}, names]}, f"{where}/propertyNames"), inner
