"""`enum` and `const`: the values that fit everything beside them, each as its JSON text."""

from typing import TYPE_CHECKING, Any

import jsonschema_rs
import msgspec

from rightseat.core.json_schema import PATTERNS
from rightseat.models.completion.grammar import references, strings
from rightseat.models.completion.grammar.keywords import significant
from rightseat.models.completion.grammar.literals import one_of
from rightseat.models.completion.grammar.nodes import Literal, Node

if TYPE_CHECKING:
    from rightseat.models.completion.grammar.work import Work


EXACT = 2**53


def build(work: "Work", schema: dict[str, Any], where: str) -> Node:
    values = listed(schema) or []
    if not values:
        work.fail(where, "enum", "has no values")
    if len(values) > work.bounds.enumerated:
        work.fail(where, "enum", f"has {len(values)} values; {work.bounds.enumerated} are the most")
    texts = [text(value) for value in fitting(work, schema, values, where)]
    return Literal(texts[0]) if len(texts) == 1 else work.named("enum", one_of(texts))


def listed(schema: dict[str, Any]) -> list[Any] | None:
    return [schema["const"]] if "const" in schema else schema.get("enum")


def fitting(work: "Work", schema: dict[str, Any], values: list[Any], where: str) -> list[Any]:
    """Those of the values that fit the whole schema."""
    rules = significant(schema).keys() - {"enum", "const"}
    has_both = "enum" in schema and "const" in schema
    if rules == {"type"} and schema["type"] == "string" and not has_both:
        values = [value for value in values if isinstance(value, str)]
    elif rules or has_both:
        try:
            whole = references.standing(work.root, schema)
            fits = jsonschema_rs.validator_for(
                whole, validate_formats=True, pattern_options=PATTERNS, offline=True
            ).is_valid
            values = [*filter(fits, values)]
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            work.fail(where, "enum", f"cannot be compared with the keywords beside it: {error}")
    if not values:
        keyword = "enum" if "enum" in schema else "const"
        work.impossible(where, keyword, "has no value that fits the keywords beside it")
    return values


def text(value: object) -> str:
    if isinstance(value, str):
        return strings.quoted(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        value = int(value)  # as models write it
    return msgspec.json.encode(value).decode()
