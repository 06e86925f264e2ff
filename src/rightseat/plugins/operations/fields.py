"""The inputs of an operation as one list: its parameters and the properties of its body."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Operation, Parameter, ParameterLocation, RequestBody, Schema

OBJECT_KEYWORDS = frozenset(
    {"type", "properties", "required", "additionalProperties", "title", "description", "example", "examples", "default",
     "$defs", "$schema", "nullable", "xml", "externalDocs"}
)  # fmt: skip
"""A body with only these keywords is split into its properties; other keywords relate properties to each other."""

IGNORED_HEADERS = ("accept", "content-type", "authorization")
"""Headers that OpenAPI does not allow as parameters."""


@dataclass(frozen=True, slots=True)
class OperationField:
    """`label` is the name for models, people and `args`: the plain name, unless two places have the same one.

    `is_entire_body` marks a body that is one value.
    """

    label: str
    name: str
    place: ParameterLocation
    schema: Schema
    required: bool = False
    is_deprecated: bool = False
    is_file: bool = False
    is_entire_body: bool = False
    parameter: Parameter | None = None


def list_fields(operation: Operation) -> tuple[OperationField, ...]:
    """Return the fields in document order, the body last."""
    found = [*list_parameter_fields(operation), *(list_body_fields(operation.body) if operation.body else ())]
    times = Counter(field.name for field in found)
    return tuple(add_place_to_label(field) if times[field.name] > 1 else field for field in found)


def add_place_to_label(field: OperationField) -> OperationField:
    label = field.name if field.place == "body" and not field.is_entire_body else f"{field.place}.{field.name}"
    return OperationField(
        label, field.name, field.place, field.schema, field.required, field.is_deprecated, field.is_file,
        field.is_entire_body, field.parameter,
    )  # fmt: skip


def list_parameter_fields(operation: Operation) -> Iterator[OperationField]:
    for one in operation.parameters:
        if one.place == "header" and one.name.lower() in IGNORED_HEADERS:
            continue
        schema = {**one.schema, "description": one.description} if one.description else one.schema
        required = one.required or one.place == "path"
        yield OperationField(one.name, one.name, one.place, schema, required, one.deprecated, parameter=one)


def list_body_fields(body: RequestBody) -> Iterator[OperationField]:
    properties = body.schema.get("properties")
    if (
        not isinstance(properties, dict)
        or not properties
        or not set(body.schema) <= OBJECT_KEYWORDS | find_extensions(body.schema)
    ):
        yield OperationField("body", "body", "body", body.schema, body.required, is_entire_body=True)
        return
    needed = body.schema.get("required")
    names = needed if isinstance(needed, list) else []
    for name, value in properties.items():
        schema: dict[str, JsonValue] = value if isinstance(value, dict) else {}
        if "$defs" in body.schema:
            schema = {"$defs": body.schema["$defs"], **schema}
        is_deprecated = schema.get("deprecated") is True
        yield OperationField(name, name, "body", schema, name in names, is_deprecated, name in body.files)


def find_extensions(schema: Schema) -> set[str]:
    return {key for key in schema if key.startswith("x-")}
