"""Compiles `enum` and `const`: the JSON text of each value that satisfies the other keywords."""

from typing import Any

import jsonschema_rs
import msgspec

from rightseat.json_schema import SchemaValidator
from rightseat.models.completion.grammar import references, strings
from rightseat.models.completion.grammar.keywords import select_assertions
from rightseat.models.completion.grammar.nodes import LiteralText, Node
from rightseat.models.completion.grammar.prefix_tree import make_literal_choice
from rightseat.models.completion.grammar.protocol import Compiler

MAX_EXACT_INTEGER = 2**53


def build(compiler: Compiler, schema: dict[str, Any], where: str) -> Node:
    values = list_values(schema) or []
    if not values:
        compiler.fail(where, "enum", "has no values")
    if len(values) > compiler.bounds.enumerated:
        compiler.fail(where, "enum", f"has {len(values)} values; the maximum is {compiler.bounds.enumerated}")
    texts = [to_json(value) for value in filter_valid(compiler, schema, values, where)]
    return LiteralText(texts[0]) if len(texts) == 1 else compiler.named("enum", make_literal_choice(texts))


def list_values(schema: dict[str, Any]) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def filter_valid(compiler: Compiler, schema: dict[str, Any], values: list[Any], where: str) -> list[Any]:
    """Return the values that are valid for the whole schema."""
    rules = select_assertions(schema).keys() - {"enum", "const"}
    has_both = "enum" in schema and "const" in schema
    if rules == {"type"} and schema["type"] == "string" and not has_both:
        values = [value for value in values if isinstance(value, str)]
    elif rules or has_both:
        try:
            standalone = references.make_standalone(compiler.root, schema)
            fits = SchemaValidator(standalone, validate_formats=True).is_valid
            values = [*filter(fits, values)]
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            compiler.fail(where, "enum", f"cannot be checked against the other keywords: {error}")
    if not values:
        keyword = "enum" if "enum" in schema else "const"
        compiler.fail_unsatisfiable(where, keyword, "has no value that satisfies the other keywords")
    return values


def to_json(value: object) -> str:
    if isinstance(value, str):
        return strings.quote(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_EXACT_INTEGER:
        value = int(value)  # as models write it
    return msgspec.json.encode(value).decode()
