"""What a builder keeps, what it forgets, and what it holds against hostile schemas."""

import json
from typing import Any

import pytest

from rightseat.core.errors import SchemaNotSupported
from rightseat.models.completion.grammar import validation
from rightseat.models.completion.grammar.nodes import Grammar, LiteralText, Node, Rule, Until
from rightseat.models.completion.grammar.output import gbnf
from rightseat.models.completion.grammar.schema import GrammarBuilder
from tests.models.completion.grammar import reading, words

Schema = dict[str, Any]
TOOL = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "n": {"type": "integer", "maximum": 9}},
    "required": ["q"],
}


def nested(levels: int, wrap: str) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(levels):
        inner = {"items": schema} if wrap == "array" else {"properties": {"a": schema, "b": {"type": "string"}}}
        schema = {"type": wrap, **inner}
    return schema


def accepts(builder: GrammarBuilder, node: Node, text: str) -> bool:
    return words.accepts(builder.grammar(node), text)


def test_equal_schemas_share_their_rules() -> None:
    builder = GrammarBuilder()
    first = builder.value(TOOL, "tool 'a': parameters")
    known = dict(builder.rules)
    second = builder.value(json.loads(json.dumps({**TOOL, "description": "Another."})), "tool 'b': parameters")

    assert first == second
    assert builder.rules == known


def test_a_refused_schema_leaves_nothing_behind() -> None:
    builder = GrammarBuilder()
    good = builder.value(TOOL, "tool 'good': parameters")
    known, text = dict(builder.rules), gbnf.write(builder.grammar(good))

    with pytest.raises(SchemaNotSupported):
        builder.value(
            {"properties": {"a": {"minLength": 3}, "b": {"$ref": "#"}, "c": {"not": {}}}}, "tool 'bad': parameters"
        )

    assert builder.rules == known
    again = builder.value(TOOL, "tool 'good': parameters")
    builder.value({"properties": {"a": {"minLength": 3}}}, "tool 'other': parameters")
    assert gbnf.write(builder.grammar(again)) == text


@pytest.mark.parametrize(
    "schema", [None, {}, True, {"type": "object"}, {"type": "object", "properties": {}}, {"title": "x"}]
)
def test_a_tool_without_parameters_is_called_with_none(schema: object) -> None:
    builder = GrammarBuilder()

    grammar = builder.grammar(builder.arguments(schema, "tool 'now': parameters"))

    assert words.accepts(grammar, "{}")
    assert not words.accepts(grammar, '{"a":1}')


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": ["array", "null"]}, False])
def test_arguments_are_an_object(schema: object) -> None:
    with pytest.raises(SchemaNotSupported, match="arguments are an object"):
        GrammarBuilder().arguments(schema, "tool 'x': parameters")


def test_arguments_without_a_type_are_an_object() -> None:
    builder = GrammarBuilder()
    node = builder.arguments(
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"const": 1}}}, "tool"
    )

    assert accepts(builder, node, '{"a":1}')
    assert not accepts(builder, node, "1")


def test_a_free_object_is_any_object() -> None:
    builder = GrammarBuilder()
    node = builder.value({"type": "object"}, "response_format")

    assert accepts(builder, node, '{"name":"Tom","colours":["grey", {"a":null}],"age":2.5}')
    assert not accepts(builder, node, "[]")


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "string"}, "a\n<b", "x</p>"),
        ({"type": "string", "maxLength": 3}, "a<b", "abcd"),
        ({"type": "string", "minLength": 2}, "ab", "a"),
        ({"enum": ["celsius", "°F"]}, "°F", "kelvin"),
        ({"type": "string", "pattern": '^"?[a-z]$'}, '"a', '\\"a'),
        ({"type": "string", "format": "date"}, "2024-01-01", "2024-1-1"),
        ({"allOf": [{"type": "string"}, {"maxLength": 1}]}, "a", "ab"),
    ],
)
def test_a_string_can_be_written_bare(schema: Schema, right: str, wrong: str) -> None:
    builder = GrammarBuilder()
    node = builder.text(schema, "tool 'x': parameters/q", "</p>")

    assert node is not None
    grammar = reading.read(gbnf.write(builder.grammar(node)))
    assert words.accepts(grammar, right)
    assert not words.accepts(grammar, wrong)


def test_a_bare_string_does_not_contain_its_end() -> None:
    builder = GrammarBuilder()
    node = builder.text({"type": "string", "pattern": r"^[\s\S]+$"}, "tool", "</p>")

    assert node is not None
    assert accepts(builder, node, "a > b\n")
    assert not accepts(builder, node, "a</p>")
    with pytest.raises(SchemaNotSupported, match="`enum` has a value with '</p>' in it"):
        builder.text({"enum": ["a", "b</p>"]}, "tool", "</p>")


@pytest.mark.parametrize("schema", [{"type": "integer"}, {"type": ["string", "null"]}, True, {"enum": ["a", 1]}])
def test_what_may_be_something_else_than_a_string_is_not_written_bare(schema: object) -> None:
    assert GrammarBuilder().text(schema, "tool", "</p>") is None


def test_a_string_without_bounds_is_free_up_to_its_end() -> None:
    assert GrammarBuilder().text({"type": "string"}, "tool", "</p>") == Until("</p>")


def test_rules_of_ones_own_keep_their_names() -> None:
    builder = GrammarBuilder()
    call = builder.rule("call", LiteralText("x"))

    assert call == Rule("call")
    assert builder.rule("call", LiteralText("x")) == call
    with pytest.raises(ValueError, match="another rule"):
        builder.rule("call", LiteralText("y"))


@pytest.mark.parametrize(
    "schema",
    [
        nested(300, "object"),
        nested(2_000, "array"),
        {"allOf": [{"anyOf": [{"required": [f"a{i}"]}, {"required": [f"b{i}"]}]} for i in range(30)]},
        {"dependentRequired": {f"p{i}": [f"q{i}"] for i in range(12)}},
        {"$ref": "#/$defs/d0", "$defs": {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)}},
        {"oneOf": [{"type": "object", "properties": {f"a{i}": {}}} for i in range(200)]},
        {"enum": list(range(10_000))},
        {"type": "object", "properties": {f"p{i}": {} for i in range(400)}, "minProperties": 200},
        {"type": "integer", "minimum": 10**300},
        {"type": "number", "multipleOf": 1e-12},
    ],
)
def test_a_schema_that_would_explode_is_refused(schema: Schema) -> None:
    with pytest.raises(SchemaNotSupported, match="tool 'deep'"):
        GrammarBuilder().value(schema, "tool 'deep': parameters")


@pytest.mark.parametrize(
    "schema",
    [
        nested(60, "object"),
        {"type": "string", "maxLength": 10_000_000},
        {"type": "array", "items": {"type": "array", "items": {"type": "string", "maxLength": 1000}, "maxItems": 1000}},
        {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(1_000)}},
        {"oneOf": [{"type": "object", "properties": {"k": {"const": f"k{i}"}}, "required": ["k"]} for i in range(200)]},
        {"type": "number", "minimum": -1e300, "maximum": 1e300},
        {"type": "string", "pattern": r"^((a|aa)*b?)*$"},
    ],
)
def test_a_large_schema_makes_a_grammar_of_its_own_size(schema: Schema) -> None:
    builder = GrammarBuilder()

    text = gbnf.write(builder.grammar(builder.value(schema, "tool")))

    assert len(text) < 1_000 + 4 * len(json.dumps(schema))
    assert reading.read(text).rules


def test_strings_and_arrays_have_an_end_where_the_schema_has_none() -> None:
    builder = GrammarBuilder()
    text, items = (
        builder.value({"type": "string"}, "tool"),
        builder.value({"type": "array", "items": {"const": 1}}, "tool"),
    )

    assert accepts(builder, text, f'"{"a" * 1_000}"')
    assert not accepts(builder, text, f'"{"a" * 1_001}"')
    assert accepts(builder, items, f"[{','.join('1' * 32)}]")
    assert not accepts(builder, items, f"[{','.join('1' * 33)}]")


def test_a_finished_value_is_checked_formats_included() -> None:
    check = validation.compile_schema({"properties": {"a": {"type": "array", "items": {"format": "date"}}}}, "tool 'x'")

    assert check({"a": ["2024-01-01"]}) is None
    assert check({"a": ["2024-01-01", "2024-13-01"]}) == 'a/1: "2024-13-01" is not a "date"'
    assert check(3) is None


def test_a_check_never_fetches_anything() -> None:
    with pytest.raises(SchemaNotSupported, match="tool 'x'"):
        validation.compile_schema({"$ref": "http://127.0.0.1:9/schema.json"}, "tool 'x'")


def test_a_grammar_has_the_rules_of_its_builder() -> None:
    builder = GrammarBuilder()
    node = builder.value(TOOL, "tool")

    assert isinstance(builder.grammar(node), Grammar)
    assert builder.grammar(node).rules == builder.rules
