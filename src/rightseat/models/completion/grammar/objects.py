"""Objects: their members in the schema's order, none twice, without a grammar that doubles with each optional one.

some required      (a ",")? b ("," c)?          what is optional brings its comma along
none required      a tail1 | b tail2 | c        tail1 is ("," b)? tail2, a rule of its own
counted            a rule for each place and each number of members so far
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import msgspec

from rightseat.core.json_schema import PATTERNS
from rightseat.models.completion.grammar import references, strings
from rightseat.models.completion.grammar.literals import choice
from rightseat.models.completion.grammar.merging import matches
from rightseat.models.completion.grammar.nodes import Literal, Node, Repeat, Sequence

if TYPE_CHECKING:
    from rightseat.models.completion.grammar.work import Work

EMPTY = Literal("")
COUNTED = 2_000
"""Rules for one object whose members are counted."""


class Member(msgspec.Struct, frozen=True):
    node: Node
    required: bool


def build(work: "Work", schema: dict[str, Any], where: str) -> Node:
    declared = declarations(work, schema, where)
    least, most = int(schema.get("minProperties", 0)), schema.get("maxProperties")
    if most is not None and most < least:
        work.fail(where, "maxProperties", f"is {most}, below the minProperties {least}: no object fits")
    if not declared and free(schema):
        return entries(work, schema, least, most, where)
    required = set(schema.get("required", ()))
    members = [member(work, name, inner, name in required, where) for name, inner in declared.items()]
    if least > len(members):
        work.fail(where, "minProperties", f"is {least}, and {len(members)} properties are declared")
    if most is not None and most < len(required):
        work.fail(where, "maxProperties", f"is {most}, and {len(required)} properties are required")
    inside = listed(work, members, least, len(members) if most is None else int(most), where, "minProperties")
    return work.named("object", Sequence((Literal("{"), inside, Literal("}"))))


def free(schema: dict[str, Any]) -> bool:
    """Whether members may have names that are not declared."""
    if schema.get("unevaluatedProperties") is False and "additionalProperties" not in schema:
        return "patternProperties" in schema
    if "properties" in schema and not schema.get("required"):
        return "additionalProperties" in schema and schema["additionalProperties"] is not False
    return schema.get("additionalProperties", True) is not False or "patternProperties" in schema


def undeclared(schema: dict[str, Any]) -> Any:
    """What a member must fit that is not declared."""
    return schema.get("additionalProperties", schema.get("unevaluatedProperties", True))


def declarations(work: "Work", schema: dict[str, Any], where: str) -> dict[str, Any]:
    """Every member that may be generated, by name; what is forbidden is left out where it is optional."""
    declared = dict(schema.get("properties", {}))
    required = dict.fromkeys(schema.get("required", ()))
    rules: dict[str, Any] = schema.get("patternProperties", {})
    for name in required:
        if name not in declared:
            known = any(matches(pattern, name) for pattern in rules)
            declared[name] = True if known else undeclared(schema)
    for pattern, rule in rules.items():
        for name in [name for name in declared if matches(pattern, name)]:
            declared[name] = {"allOf": [declared[name], rule]} if declared[name] is not False else False
    if "propertyNames" in schema:
        allowed = name_check(work, schema["propertyNames"], where)
        declared = {name: inner if allowed(name) else False for name, inner in declared.items()}
    for name in required:
        if declared[name] is False:
            work.impossible(where, "required", f"asks for {name!r}, which other keywords forbid")
    return {name: inner for name, inner in declared.items() if inner is not False}


def name_check(work: "Work", schema: Any, where: str) -> Callable[[str], bool]:
    try:
        return jsonschema_rs.validator_for(
            references.standing(work.root, schema), pattern_options=PATTERNS, offline=True
        ).is_valid
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        work.fail(where, "propertyNames", f"cannot be used by itself: {str(error).partition(chr(10))[0]}")


def member(work: "Work", name: str, schema: Any, required: bool, where: str) -> Member:
    key = Literal(strings.quoted(name) + ":")
    return Member(Sequence((key, work.space, work.build(schema, f"{where}/properties/{name}"))), required)


def listed(work: "Work", members: list[Member], least: int, most: int, where: str, keyword: str) -> Node:
    """`least` to `most` of the members, parted by commas, in their order."""
    first = next((place for place, member in enumerate(members) if member.required), None)
    needed = sum(member.required for member in members)
    if most < len(members) or least > max(needed, 1 if first is None else 0):
        return _counted(work, members, least, most, where, keyword)
    if first is None:
        inside = _optional(work, members)
        return inside if least else Repeat(inside, 0, 1) if members else EMPTY
    comma = (Literal(","), work.space)
    parts: list[Node] = [Repeat(Sequence((member.node, *comma)), 0, 1) for member in members[:first]]
    parts.append(members[first].node)
    for member in members[first + 1 :]:
        behind = Sequence((*comma, member.node))
        parts.append(behind if member.required else Repeat(behind, 0, 1))
    return Sequence(tuple(parts))


def _optional(work: "Work", members: list[Member]) -> Node:
    """One of them at least."""
    tail: Node = EMPTY
    options: list[Node] = []
    for member in reversed(members):
        options.append(Sequence((member.node, tail)) if tail is not EMPTY else member.node)
        behind = Repeat(Sequence((Literal(","), work.space, member.node)), 0, 1)
        tail = work.named("tail", Sequence((behind, tail)) if tail is not EMPTY else behind)
    return choice(options[::-1]) if options else EMPTY


def _counted(work: "Work", members: list[Member], least: int, most: int, where: str, keyword: str) -> Node:
    if len(members) * (most + 1) > COUNTED:
        work.fail(where, keyword, f"counts among {len(members)}; that many cannot be counted")
    behind: dict[int, Node | None] = {count: EMPTY if least <= count <= most else None for count in range(most + 2)}
    for member in reversed(members):
        before: dict[int, Node | None] = {}
        for count in range(most + 1):
            ways: list[Node] = []
            rest = behind[count + 1] if count < most else None
            if rest is not None:
                comma: tuple[Node, ...] = (Literal(","), work.space) if count else ()
                ways.append(Sequence((*comma, member.node, *(() if rest is EMPTY else (rest,)))))
            skipped = behind[count]
            if not member.required and skipped is not None:
                ways.append(skipped)
            before[count] = work.named("rest", choice(ways)) if ways else None
        behind = {**before, most + 1: None}
    start = behind[0]
    if start is None:
        work.impossible(where, keyword, "and the required members leave nothing that fits")
    return start


def entries(work: "Work", schema: dict[str, Any], least: int, most: int | None, where: str) -> Node:
    """Members of any name."""
    limit = work.bounds.most_entries
    most = max(work.bounds.entries, least) if most is None else min(int(most), limit)
    if least > 1:
        work.fail(where, "minProperties", f"is {least}, and names that are not declared could be said twice")
    key, inner = _entry(work, schema, where)
    if inner is False or most == 0:
        if least:
            work.impossible(where, "minProperties", f"is {least}, and no property is allowed")
        return Literal("{}")
    if inner is True:
        value: Node = work.anything()
    else:
        value = work.build(inner, f"{where}/additionalProperties")
    entry = work.named("entry", Sequence((key, Literal(":"), work.space, value)))
    more = Repeat(Sequence((Literal(","), work.space, entry)), 0, most - 1)
    inside: Node = Sequence((entry, more))
    return work.named("map", Sequence((Literal("{"), inside if least else Repeat(inside, 0, 1), Literal("}"))))


def _entry(work: "Work", schema: dict[str, Any], where: str) -> tuple[Node, Any]:
    rules: dict[str, Any] = schema.get("patternProperties", {})
    names = schema.get("propertyNames", True)
    if len(rules) > 1 or (rules and names is not True):
        work.fail(where, "patternProperties", "has several patterns, or `propertyNames` beside it; one can be enforced")
    for pattern, inner in rules.items():
        return work.build({"type": "string", "pattern": pattern}, f"{where}/patternProperties"), inner
    inner = undeclared(schema)
    if names is True:
        return work.key(), inner
    return work.build({"allOf": [{"type": "string"}, names]}, f"{where}/propertyNames"), inner
