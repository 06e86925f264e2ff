"""Classifies every keyword of JSON Schema, from draft 3 to 2020-12.

enforced     every value that the grammar accepts satisfies it
refused      the schema is rejected, and the message names the keyword
annotation   does not restrict values

Unknown keywords (`optional`, `nullable`, `x-…`) are ignored, as JSON Schema requires.
"""

from typing import Any, Literal

KeywordSupport = Literal["enforced", "refused", "annotation"]

ENFORCED: dict[str, str] = {
    "type": "one, or a list",
    "enum": "values that do not fit the keywords beside it are left out",
    "const": "",
    "properties": "in the order of the schema; only declared ones are generated",
    "required": "",
    "additionalProperties": "generated where no properties are declared; 16 at most",
    "patternProperties": "generated where no properties are declared and there is one pattern",
    "propertyNames": "",
    "minProperties": "above 1 only where the properties are declared",
    "maxProperties": "",
    "dependentRequired": "",
    "dependentSchemas": "",
    "dependencies": "draft 7's word for both",
    "unevaluatedProperties": "declared properties only are generated; refused inside `allOf` and `$ref`",
    "prefixItems": "",
    "items": "at most 32 without `maxItems`, at most 1,000 with it; a list is draft 7's `prefixItems`",
    "additionalItems": "draft 7's `items` behind a list",
    "unevaluatedItems": "refused inside `allOf` and `$ref`",
    "contains": "the items that must be there come first; refused beside `prefixItems`",
    "minContains": "",
    "minItems": "refused above 1,000",
    "maxItems": "narrowed to 1,000",
    "uniqueItems": "where the items are an `enum`: each once, in its order; else one item at most, with a warning",
    "minLength": "refused above 10,000",
    "maxLength": "narrowed to 10,000; where it is not set, see the bounds",
    "pattern": "refused by name: look-around, back references, `\\b`, an anchor in the middle; beside `format`",
    "format": "see below",
    "minimum": "",
    "maximum": "",
    "exclusiveMinimum": "a number, or draft 4's `true`",
    "exclusiveMaximum": "a number, or draft 4's `true`",
    "multipleOf": "of a step that divides no power of ten, the 1,000 next to zero or to the bound",
    "allOf": "merged into one schema",
    "anyOf": "the keywords beside it are merged into each option",
    "oneOf": "where no value can fit two of the options (types, constants, required names); else refused",
    "$ref": "local ones, `#/…` and `#name`, also recursive; never fetched: a remote one is refused",
    "$defs": "",
    "definitions": "",
    "$anchor": "",
    "$dynamicAnchor": "as `$anchor`",
}

REFUSED: dict[str, str] = {
    "not": "kept beside `enum` and `const`",
    "if": "kept beside `enum` and `const`",
    "then": "",
    "else": "",
    "maxContains": "",
    "$dynamicRef": "",
    "$recursiveRef": "",
    "disallow": "draft 3",
    "extends": "draft 3",
    "divisibleBy": "draft 3",
}

ANNOTATIONS: dict[str, str] = {
    "$schema": "",
    "$id": "of the whole; one further inside is refused",
    "id": "draft 4's `$id`",
    "$comment": "",
    "$vocabulary": "",
    "$recursiveAnchor": "",
    "title": "",
    "description": "",
    "default": "",
    "examples": "",
    "deprecated": "",
    "readOnly": "",
    "writeOnly": "",
    "contentEncoding": "",
    "contentMediaType": "",
    "contentSchema": "",
}

NON_ASSERTIONS = frozenset({*ANNOTATIONS, "$defs", "definitions", "$anchor", "$dynamicAnchor"})
"""Keywords that do not restrict the value of their schema."""


def classify(keyword: str) -> KeywordSupport | None:
    """None if it is not a keyword of JSON Schema."""
    if keyword in ENFORCED:
        return "enforced"
    if keyword in REFUSED:
        return "refused"
    return "annotation" if keyword in ANNOTATIONS else None


def select_assertions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that restrict the value."""
    return {
        key: value for key, value in schema.items() if (key in ENFORCED or key in REFUSED) and key not in NON_ASSERTIONS
    }
