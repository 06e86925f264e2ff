"""What an operation takes, as one list: parameters of all places, and the properties of its body."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Body, Operation, Parameter, Place, Schema

SPREAD = frozenset({"type", "properties", "required", "additionalProperties", "title", "description", "example",
                    "examples", "default", "$defs", "$schema", "nullable", "xml", "externalDocs"})  # fmt: skip
"""A body that says nothing else of itself is shown property by property. Other keywords bind properties together."""

IGNORED = ("accept", "content-type", "authorization")
"""Headers that OpenAPI does not let a parameter set."""


@dataclass(frozen=True, slots=True)
class Field:
    """`label` is the name that models, people and `args` use: the plain name, unless it stands in two places.

    `is_whole` marks a body that is one value.
    """

    label: str
    name: str
    place: Place
    schema: Schema
    required: bool = False
    is_deprecated: bool = False
    is_file: bool = False
    is_whole: bool = False
    parameter: Parameter | None = None


def fields(operation: Operation) -> tuple[Field, ...]:
    """In the order of the document, the body last."""
    found = [*of_parameters(operation), *(of_body(operation.body) if operation.body else ())]
    times = Counter(field.name for field in found)
    return tuple(labelled(field) if times[field.name] > 1 else field for field in found)


def labelled(field: Field) -> Field:
    label = field.name if field.place == "body" and not field.is_whole else f"{field.place}.{field.name}"
    return Field(
        label, field.name, field.place, field.schema, field.required, field.is_deprecated, field.is_file,
        field.is_whole, field.parameter,
    )  # fmt: skip


def of_parameters(operation: Operation) -> Iterator[Field]:
    for one in operation.parameters:
        if one.place == "header" and one.name.lower() in IGNORED:
            continue
        schema = {**one.schema, "description": one.description} if one.description else one.schema
        required = one.required or one.place == "path"
        yield Field(one.name, one.name, one.place, schema, required, one.deprecated, parameter=one)


def of_body(body: Body) -> Iterator[Field]:
    properties = body.schema.get("properties")
    if not isinstance(properties, dict) or not properties or not set(body.schema) <= SPREAD | extensions(body.schema):
        yield Field("body", "body", "body", body.schema, body.required, is_whole=True)
        return
    needed = body.schema.get("required")
    names = needed if isinstance(needed, list) else []
    for name, value in properties.items():
        schema: dict[str, JsonValue] = value if isinstance(value, dict) else {}
        if "$defs" in body.schema:
            schema = {"$defs": body.schema["$defs"], **schema}
        is_deprecated = schema.get("deprecated") is True
        yield Field(name, name, "body", schema, name in names, is_deprecated, name in body.files)


def extensions(schema: Schema) -> set[str]:
    return {key for key in schema if key.startswith("x-")}
