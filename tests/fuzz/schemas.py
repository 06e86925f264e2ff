"""JSON Schemas, as tools and answers carry them → grammars and checks: a grammar or a refusal that names the keyword,
in bounded time and size."""

import contextlib
from random import Random
from typing import Any

from rightseat.core.errors import SchemaNotSupported
from rightseat.models.completion.grammar import validation
from rightseat.models.completion.grammar.nodes import Node
from rightseat.models.completion.grammar.output import gbnf, lark
from rightseat.models.completion.grammar.schema import GrammarBuilder
from tests.fuzz.engine import Target, plain
from tests.fuzz.mutation import TEXTS, make_value, mutate_json
from tests.measure.grammar_cost import tools

MAX_GRAMMAR_CHARACTERS = 8_000_000

NAMES = ("a", "b", "city", "ü", "x-1", "", "$ref", "type", "properties")
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object", "any")
FORMATS = ("date", "date-time", "email", "uri", "uuid", "ipv4", "ipv6", "regex", "time", "duration", "hostname", "none")
PATTERNS = (
    "^[a-z]+$",
    "(a|b)*c{2,5}",
    r"^(\w+\s?)*$",
    r"^\d{3}-\d{4}$",
    "^(a+)+$",
    "(a{1,50}){1,50}",
    "((a?){30}){30}",
    "(?=a)b",
    r"(a)\1",
    "[",
    "(?i)x",
    r"\p{L}{1,1000}",
    "[^\\x00-\\uffff]",
    "a{99999}",
    "^" + "(" * 40 + "a" + ")" * 40 + "$",
    r"[\ud800-\udfff]",
    "x{2,1}",
    "|",
)
SAMPLES: tuple[dict[str, Any], ...] = (
    tools()[0]["parameters"],
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}},
    {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]},
    {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 99, "multipleOf": 3}, {"const": "x"}, {"enum": [1, None]}]},
    {"type": "object", "patternProperties": {"^x": {"type": "number"}}, "minProperties": 1, "maxProperties": 4},
    {"type": "array", "prefixItems": [{"type": "null"}, True], "items": False, "minItems": 1, "uniqueItems": True},
    {"type": "string", "format": "date-time", "minLength": 3, "maxLength": 60},
    {"oneOf": [{"type": "string", "pattern": "^a+$"}, {"type": "string", "pattern": "^b+$"}]},
)


def make(random: Random) -> Any:
    schema = make_schema(random, 4) if random.random() < 0.6 else random.choice(SAMPLES)
    if random.random() < 0.6:
        schema = mutate_json(random, schema, most=3)
    return schema


def make_schema(random: Random, depth: int) -> Any:
    if random.random() < 0.05:
        return random.random() < 0.8
    schema: dict[str, Any] = {}
    if random.random() < 0.8:
        schema["type"] = random.choice(TYPES) if random.random() < 0.8 else random.sample(TYPES, 2)
    for _ in range(random.randint(0, 4)):
        schema |= make_keyword(random, depth)
    return schema


def make_keyword(random: Random, depth: int) -> dict[str, Any]:
    simple = ("enum", "const", "number", "length", "pattern", "format", "count", "ref")
    kind = random.choice(simple if depth <= 0 else (*simple, "properties", "items", "prefix", "many", "one", "defs"))
    number = random.choice((0, 1, 2, 3, 7, 100, 10_000, 10**9, 10**20, 0.1, -5, 1e-9, 1e300))
    count = random.choice((0, 1, 2, 5, 40, 1_000, 10**6, 2**70))
    match kind:
        case "enum":
            return {"enum": [make_value(random, 1) for _ in range(random.choice((1, 3, 300)))]}
        case "const":
            return {"const": make_value(random, 2)}
        case "number":
            names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
            return {random.choice(names): number}
        case "length":
            return {random.choice(("minLength", "maxLength")): count}
        case "pattern":
            return {"type": "string", "pattern": random.choice(PATTERNS)}
        case "format":
            return {"type": "string", "format": random.choice(FORMATS)}
        case "count":
            return {random.choice(("minItems", "maxItems", "minProperties", "maxProperties", "minContains")): count}
        case "ref":
            return {"$ref": random.choice(("#", "#/$defs/a", "#/$defs/b", "#/properties/a", "https://x.test/y", "#a"))}
        case "properties":
            properties = {name: make_schema(random, depth - 1) for name in random.sample(NAMES, random.randint(0, 5))}
            required = random.sample(NAMES, random.randint(0, 3))
            closed = random.choice((True, False, {"type": "string"}))
            return {"properties": properties, "required": required, "additionalProperties": closed}
        case "items":
            return {"items": make_schema(random, depth - 1)}
        case "prefix":
            return {"prefixItems": [make_schema(random, depth - 1) for _ in range(random.randint(1, 4))]}
        case "many":
            name = random.choice(("anyOf", "oneOf", "allOf"))
            return {name: [make_schema(random, depth - 1) for _ in range(random.choice((1, 2, 3, 3, 12)))]}
        case "one":
            name = random.choice(("not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties"))
            return {name: make_schema(random, depth - 1)}
        case _:
            return {"$defs": {"a": make_schema(random, depth - 1), "b": make_schema(random, depth - 1)}}


def check(schema: Any) -> None:
    builder = GrammarBuilder()
    for build in (builder.value, builder.arguments):
        try:
            node = build(schema, "schema")
        except SchemaNotSupported:
            continue
        write(builder, node)
    with contextlib.suppress(SchemaNotSupported):
        builder.text(schema, "schema", "</x>")
    if isinstance(schema, dict | bool):
        check_values(schema)


def write(builder: GrammarBuilder, node: Node) -> None:
    for writer in (gbnf, lark):
        try:
            text = writer.write(builder.grammar(node))
        except SchemaNotSupported:
            continue
        if len(text) > MAX_GRAMMAR_CHARACTERS:
            raise AssertionError(f"{writer.__name__} wrote {len(text):,} characters")


def check_values(schema: dict[str, Any] | bool) -> None:
    try:
        fits = validation.compile_schema(schema)
    except SchemaNotSupported:
        return
    values: tuple[Any, ...] = ({}, [], "a" * 200, 3, None, {"a": [1, {"b": "x"}]}, *TEXTS[:4])
    for value in values:
        fits(value)


TARGETS = (Target("schemas", make, plain(check), SAMPLES, night_cases=500),)
