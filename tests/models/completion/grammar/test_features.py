"""What schemas of tools use, one feature a line: what must be allowed, what must not be, what is refused by name."""

from typing import Any

import pytest

from rightseat.core.errors import SchemaNotSupported
from rightseat.models.completion.grammar.output import gbnf, lark
from rightseat.models.completion.grammar.schema import GrammarBuilder
from tests.models.completion.grammar import oracle, reading, words

Schema = dict[str, Any] | bool
POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x"]}
NODE = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}},
    "required": ["value"],
}
CAT = {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind"]}
DOG = {"type": "object", "properties": {"kind": {"const": "dog"}, "tricks": {"type": "integer"}}, "required": ["kind"]}

ENFORCED: list[tuple[str, Schema, list[str], list[str]]] = [
    ("type string", {"type": "string"}, ['""', '"é\\n"'], ["1", '"\n"', '"a', '"\\x"']),
    ("type boolean", {"type": "boolean"}, ["true", "false"], ["null", "True"]),
    ("type null", {"type": "null"}, ["null"], ["0"]),
    ("type list", {"type": ["string", "null"]}, ['"a"', "null"], ["1"]),
    ("type number", {"type": "number"}, ["0", "-1.5", "6.02e23"], ["01", ".5", "NaN"]),
    ("enum", {"enum": ["a", 1, None]}, ['"a"', "1", "null"], ['"b"', "2"]),
    ("enum beside type", {"type": "string", "enum": ["a", 1]}, ['"a"'], ["1"]),
    ("const", {"const": {"a": [1]}}, ['{"a":[1]}'], ['{"a":[2]}']),
    ("$ref", {"$ref": "#/$defs/p", "$defs": {"p": POINT}}, ['{"x":1}'], ["{}"]),
    ("definitions", {"$ref": "#/definitions/p", "definitions": {"p": POINT}}, ['{"x":1,"y":2}'], ['{"y":2}']),
    ("$ref beside others", {"$ref": "#/$defs/n", "minimum": 3, "$defs": {"n": {"type": "integer"}}}, ["3"], ["2"]),
    ("$anchor", {"$ref": "#n", "$defs": {"x": {"$anchor": "n", "type": "integer"}}}, ["3"], ["null"]),
    (
        "recursive $ref",
        {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
        ['{"value":1,"next":{"value":2}}'],
        ['{"value":1,"next":{}}'],
    ),
    (
        'recursive "#"',
        {"type": "object", "properties": {"more": {"type": "array", "items": {"$ref": "#"}}}},
        ['{"more":[{"more":[]},{}]}'],
        ['{"more":[1]}'],
    ),
    ("anyOf", {"anyOf": [{"type": "string"}, {"type": "integer"}]}, ['"a"', "1"], ["null"]),
    (
        "anyOf with siblings",
        {**POINT, "anyOf": [{"required": ["y"]}, {"properties": {"x": {"const": 7}}}]},
        ['{"x":1,"y":1}', '{"x":7}'],
        ['{"x":1}', "1"],
    ),
    ("oneOf told apart by types", {"oneOf": [{"type": "string"}, {"type": "null"}]}, ['"a"', "null"], ["1"]),
    ("oneOf told apart by a tag", {"oneOf": [CAT, DOG]}, ['{"kind":"cat","lives":9}'], ['{"kind":"dog","lives":9}']),
    (
        "allOf",
        {"allOf": [POINT, {"properties": {"x": {"minimum": 5}}, "required": ["y"]}]},
        ['{"x":5,"y":0}'],
        ['{"x":4,"y":0}', '{"x":5}'],
    ),
    ("minLength", {"type": "string", "minLength": 2}, ['"ab"', '"\\n\\n"'], ['"a"', '"\\n"']),
    ("maxLength", {"type": "string", "maxLength": 2}, ['""', '"\\"\\""'], ['"abc"']),
    ("maxLength 2000", {"type": "string", "maxLength": 2000}, [f'"{"a" * 2000}"'], [f'"{"a" * 2001}"']),
    ("maxLength 10000", {"type": "string", "maxLength": 10_000}, [f'"{"a" * 2500}"'], ["1"]),
    ("nested maxLength 2000", {"type": "array", "items": {"type": "string", "maxLength": 2000}}, ['["a"]'], ["[1]"]),
    ("minItems", {"type": "array", "items": {"type": "integer"}, "minItems": 2}, ["[1,2]", "[1, 2, 3]"], ["[1]"]),
    ("maxItems", {"type": "array", "items": {"type": "integer"}, "maxItems": 2}, ["[]", "[1,2]"], ["[1,2,3]"]),
    (
        "prefixItems",
        {"type": "array", "prefixItems": [{"const": 1}, {"type": "boolean"}], "items": False, "minItems": 2},
        ["[1,true]"],
        ["[1]", "[true,1]", "[1,true,2]"],
    ),
    ("integer bounds", {"type": "integer", "minimum": 17, "maximum": 120}, ["17", "99", "120"], ["16", "121", "17.0"]),
    ("exclusive bounds", {"type": "integer", "exclusiveMinimum": -2, "exclusiveMaximum": 2}, ["-1", "0"], ["-2", "2"]),
    ("number bounds", {"type": "number", "minimum": 10, "maximum": 11}, ["10", "10.25", "11"], ["9.9", "11.01"]),
    ("multipleOf", {"type": "integer", "multipleOf": 7}, ["0", "49", "-7"], ["1", "50"]),
    ("multipleOf a fraction", {"type": "number", "multipleOf": 0.01}, ["1.25", "-3"], ["1.255"]),
    ("format date", {"type": "string", "format": "date"}, ['"2024-02-29"'], ['"2023-02-29"', '"2023-13-01"']),
    ("format date-time", {"type": "string", "format": "date-time"}, ['"2024-01-31T23:59:59Z"'], ['"2024-01-31"']),
    ("format time", {"type": "string", "format": "time"}, ['"12:00:00+01:00"'], ['"25:00:00Z"']),
    ("format uuid", {"type": "string", "format": "uuid"}, ['"123e4567-e89b-12d3-a456-426614174000"'], ['"123"']),
    ("format email", {"type": "string", "format": "email"}, ['"ann.lee@example.org"'], ['"ann"', '"@x.y"']),
    ("format uri", {"type": "string", "format": "uri"}, ['"https://example.org/a?b=c#d"'], ['"a b"', '"/a"']),
    ("format ipv4", {"type": "string", "format": "ipv4"}, ['"192.168.0.255"'], ['"1.2.3.256"', '"1.2.3"']),
    ("pattern", {"type": "string", "pattern": "^[a-c]+$"}, ['"abc"'], ['"abd"', '""']),
    ("pattern with classes", {"type": "string", "pattern": r"^\d{3}-\w\s\S$"}, ['"123-a b"'], ['"12-a b"']),
    ("pattern with (?:)", {"type": "string", "pattern": "^(?:ab|cd){2}$"}, ['"abcd"'], ['"ab"']),
    ("pattern not anchored", {"type": "string", "pattern": "b+"}, ['"abc"', '"b"'], ['"ac"', '""']),
    ("pattern with \\S", {"type": "string", "pattern": r"\S"}, ['" a "'], ['"  "']),
    ("pattern with quotes", {"type": "string", "pattern": '^[^@ ]+"$'}, ['"a\\""', '"\\n\\""'], ['"a""', '"\n\\""']),
    ("pattern and maxLength", {"type": "string", "pattern": "^a+$", "maxLength": 3}, ['"aaa"'], ['"aaaa"']),
    (
        "additionalProperties",
        {"type": "object", "additionalProperties": {"type": "integer"}},
        ['{"a":1}'],
        ['{"a":""}'],
    ),
    ("additionalProperties false", {**POINT, "additionalProperties": False}, ['{"x":1}'], ['{"x":1,"z":1}']),
    (
        "patternProperties",
        {"type": "object", "patternProperties": {"^x-": {"type": "null"}}},
        ['{"x-a":null}'],
        ['{"x-a":1}'],
    ),
    ("propertyNames", {"type": "object", "propertyNames": {"maxLength": 2}}, ['{"ab":1}'], ['{"abc":1}']),
    (
        "minProperties",
        {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "minProperties": 2},
        ['{"a":1,"c":3}', '{"a":1,"b":2,"c":3}'],
        ["{}", '{"b":2}'],
    ),
    (
        "maxProperties",
        {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "maxProperties": 1},
        ["{}", '{"b":2}'],
        ['{"a":1,"b":2}'],
    ),
    (
        "dependentRequired",
        {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "dependentRequired": {"a": ["b"]}},
        ["{}", '{"b":2}', '{"a":1,"b":2}'],
        ['{"a":1}'],
    ),
    (
        "dependentSchemas",
        {"type": "object", "properties": {"a": {"const": 1}}, "dependentSchemas": {"a": {"required": ["z"]}}},
        ["{}", '{"a":1,"z":null}'],
        ['{"a":1}'],
    ),
    (
        "contains",
        {"type": "array", "items": {"type": "integer"}, "contains": {"const": 4711}, "maxItems": 3},
        ["[4711]", "[4711,1]"],
        ["[]", "[1,2]"],
    ),
    (
        "uniqueItems",
        {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 2},
        ['["a","c"]', '["a","b","c"]'],
        ['["a","a"]', '["a"]'],
    ),
    (
        "uniqueItems of a named enum, a value twice",
        {
            "type": "array",
            "items": {"$ref": "#/$defs/e"},
            "uniqueItems": True,
            "$defs": {"e": {"enum": ["a", "b", "a"]}},
        },
        ['["a","b"]', "[]"],
        ['["a","b","a"]'],
    ),
    (
        "uniqueItems of items that nobody can tell apart",
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        ["[]", '["a"]'],
        ['["a","a"]', '["a","b"]'],
    ),
    (
        "uniqueItems beside contains",
        {"type": "array", "items": {"type": "integer"}, "contains": {"const": 7}, "uniqueItems": True},
        ["[7]"],
        ["[]", "[1]", "[7,7]"],
    ),
    (
        "oneOf told apart by required names",
        {"oneOf": [POINT, {**CAT, "properties": {"kind": {}}}]},
        ['{"x":1}'],
        ["{}"],
    ),
    ("oneOf told apart by bounds", {"type": "integer", "oneOf": [{"maximum": 3}, {"minimum": 5}]}, ["3", "5"], ["4"]),
    (
        "unevaluatedProperties",
        {**POINT, "unevaluatedProperties": False, "allOf": [{"properties": {"z": {"const": 0}}}]},
        ['{"x":1,"z":0}'],
        ['{"x":1,"w":0}'],
    ),
    ("a schema that is true", {"type": "object", "properties": {"q": True}}, ['{"q":[null,{"a":"b"}]}'], ['{"q":}']),
    ("a schema that is false", {**POINT, "properties": {"x": True, "y": False}}, ['{"x":1}'], ['{"x":1,"y":1}']),
    ("not, beside an enum", {"enum": ["a", "b"], "not": {"const": "a"}}, ['"b"'], ['"a"']),
    ("if, beside an enum", {"enum": [1, 5], "if": {"minimum": 2}, "then": {"maximum": 4}}, ["1"], ["5"]),
    ("optional, nullable: no keywords", {"type": "string", "optional": True, "nullable": True}, ['"a"'], ["null"]),
    ("names in other scripts", {"properties": {"schlüssel 鍵": {"const": 1}}}, ['{"schlüssel 鍵":1}'], ['{"x":1}']),
    ("names with quotes", {"properties": {'a"b\\c\n': {"const": 1}}}, ['{"a\\"b\\\\c\\n":1}'], ['{"a"b":1}']),
    (
        "no property required",
        {"properties": {"a": {"const": 1}, "b": {"const": 2}}},
        ["{}", '{"b":2}'],
        ['{"b":2,"a":1}'],
    ),
    ("white space", POINT, ['{"x": 1, "y": 2}', '{"x":1,"y":2}'], ['{ "x":1}', '{"x":  1}', '{"x":1\n}']),
]

REFUSED: list[tuple[str, object]] = [
    ("not", {"type": "string", "not": {"enum": ["x"]}}),
    ("if", {"type": "integer", "if": {"minimum": 0}, "then": {"maximum": 5}}),
    ("uniqueItems", {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 2}),
    ("propertyNames", {"type": "object", "propertyNames": {"$ref": "#/$defs/"}}),
    ("propertyNames", {"items": {"propertyNames": {"$ref": ""}}}),
    ("$ref", {"allOf": [{"$ref": f"#/allOf/{'9' * 5_000}"}]}),
    ("maxContains", {"type": "array", "contains": {"const": 1}, "maxContains": 1}),
    ("oneOf", {"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]}),
    ("oneOf", {"oneOf": [{"type": "integer"}, {"type": "number"}]}),
    ("oneOf", {"oneOf": [{"type": "object", "properties": {}, "additionalProperties": {}}, {**POINT}]}),
    (
        "oneOf",
        {"oneOf": [{**POINT, "required": [], "anyOf": [{"properties": {"z": {}}}]}, {**POINT, "required": ["z"]}]},
    ),
    ("uniqueItems", {"type": "array", "items": {"enum": [{"a": 1}, {"a": 1.0}]}, "uniqueItems": True, "minItems": 2}),
    ("uniqueItems", {"type": "array", "prefixItems": [{}, {}], "uniqueItems": True, "minItems": 2}),
    ("pattern", {"type": "string", "pattern": "(?=.*x)a"}),
    ("pattern", {"type": "string", "pattern": r"^(.)\1$"}),
    ("pattern", {"type": "string", "pattern": r"a\b"}),
    ("pattern", {"type": "string", "pattern": "([a-z"}),
    ("pattern", {"type": "string", "pattern": "^a$", "format": "date"}),
    ("$ref", {"$ref": "https://example.org/schema.json"}),
    ("$ref", {"$ref": "#/$defs/nowhere"}),
    ("$dynamicRef", {"$dynamicRef": "#x"}),
    ("$id", {"properties": {"a": {"$id": "https://example.org/a", "type": "string"}}}),
    ("type", {"type": "strnig"}),
    ("minLength", {"type": "string", "minLength": "three"}),
    ("divisibleBy", {"type": "integer", "divisibleBy": 2}),
    ("patternProperties", {"type": "object", "patternProperties": {"^a": {}, "^b": {}}}),
]

IMPOSSIBLE: list[tuple[str, Schema]] = [
    ("enum", {"enum": []}),
    ("enum", {"type": "string", "enum": [1, 2]}),
    ("enum", {"type": "string", "enum": ["a"], "const": "b"}),
    ("maximum", {"type": "integer", "minimum": 5, "maximum": 4}),
    ("maximum", {"type": "number", "minimum": 5.5, "maximum": 5.25}),
    ("maximum", {"type": "integer", "minimum": 5.2, "maximum": 5.8}),
    ("maxLength", {"type": "string", "minLength": 5, "maxLength": 4}),
    ("maxItems", {"type": "array", "minItems": 5, "maxItems": 4}),
    ("minItems", {"type": "array", "items": False, "minItems": 1}),
    ("minLength", {"type": "string", "minLength": 1_000_000}),
    ("minItems", {"type": "array", "items": {"type": "integer"}, "minItems": 500_000}),
    ("pattern", {"type": "string", "pattern": "^a{5}$", "maxLength": 4}),
    ("required", {"type": "object", "properties": {"a": False}, "required": ["a"]}),
    ("minProperties", {"type": "object", "properties": {"a": True}, "minProperties": 2}),
    ("allOf", {"allOf": [{"type": "string"}, {"type": "integer"}]}),
    ("false", False),
    ("$ref", {"$ref": "#"}),
    ("$ref", {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}),
    ("$ref", {"anyOf": [{"$ref": "#"}, {"type": "string"}]}),
    ("$ref", {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
    ("$ref", {"$ref": "#/$defs/a", "minimum": 1, "$defs": {"a": {"$ref": "#/$defs/a"}}}),
]


@pytest.mark.parametrize(
    ("schema", "right", "wrong"), [case[1:] for case in ENFORCED], ids=[case[0] for case in ENFORCED]
)
def test_a_feature_is_enforced_in_every_dialect(schema: Schema, right: list[str], wrong: list[str]) -> None:
    builder = GrammarBuilder()
    grammar = builder.grammar(builder.value(schema, "schema"))
    read = reading.read(gbnf.write(grammar))
    judge = oracle.of_lark(lark.write(grammar))

    assert not judge.problem
    for text, allowed in [*((text, True) for text in right), *((text, False) for text in wrong)]:
        assert words.accepts(grammar, text) is allowed, text[:100]
        assert words.accepts(read, text) is allowed, text[:100]
        assert judge.accepts(text) is allowed, text[:100]


def test_a_set_limited_to_one_item_is_reported_once_and_not_for_a_refused_schema() -> None:
    tags = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    builder = GrammarBuilder()
    with pytest.raises(SchemaNotSupported):
        builder.value({"type": "object", "properties": {"tags": tags, "no": {"not": {}}}}, "tool 'a'")
    for _ in range(2):
        builder.value({"type": "object", "properties": {"tags": tags}}, "tool 'b'")

    assert list(builder.narrowed) == [
        "tool 'b'/properties/tags: `uniqueItems` limits the array to one item, because the items are not an `enum`."
    ]


@pytest.mark.parametrize(("keyword", "schema"), [*REFUSED, *IMPOSSIBLE])
def test_what_cannot_be_enforced_is_refused_by_name(keyword: str, schema: object) -> None:
    with pytest.raises(SchemaNotSupported) as refusal:
        GrammarBuilder().value(schema, "tool 'search': parameters")

    assert refusal.value.message.startswith("tool 'search': parameters")
    assert f"`{keyword}`" in refusal.value.message


def test_a_refusal_names_its_place() -> None:
    schema = {"properties": {"q": {"type": "array", "items": {"type": "string", "pattern": "(?=a)"}}}}

    with pytest.raises(SchemaNotSupported) as refusal:
        GrammarBuilder().value(schema, "tool 'search': parameters")

    assert refusal.value.message == (
        "tool 'search': parameters/properties/q/items: `pattern` '(?=a)' "
        "has look-ahead or look-behind, which a grammar cannot express."
    )


def test_a_lone_surrogate_in_a_schema_is_refused() -> None:
    with pytest.raises(SchemaNotSupported, match="a lone surrogate"):
        GrammarBuilder().value({"enum": ["\ud800"]}, "schema")


@pytest.mark.parametrize("schema", ["string", None, 3, []])
def test_an_invalid_schema_is_refused(schema: object) -> None:
    with pytest.raises(SchemaNotSupported, match="a schema is an object or a boolean"):
        GrammarBuilder().value(schema, "response_format")
