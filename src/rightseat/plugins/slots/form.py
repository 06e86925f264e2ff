"""Builds one object schema of all arguments of an operation, and finds those that can have only one value."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rightseat.core.types import JsonValue
from rightseat.plugins import external_json
from rightseat.plugins.definition import Operation, Plugin, Schema
from rightseat.plugins.operations.auth import list_auth_names
from rightseat.plugins.operations.fields import OperationField, list_fields
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scope import Scope, Upload

ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
"""The values that a header and a cookie can hold."""


@dataclass(frozen=True, slots=True)
class SlotForm:
    """`schema` validates all values together. `hidden` are arguments that are not shown to a model."""

    schema: dict[str, JsonValue]
    hidden: frozenset[str] = frozenset()
    files: Mapping[str, Upload] = field(default_factory=dict)
    file_fields: frozenset[str] = frozenset()

    @property
    def properties(self) -> dict[str, JsonValue]:
        found = self.schema.get("properties")
        return found if isinstance(found, dict) else {}

    @property
    def required(self) -> list[str]:
        found = self.schema.get("required")
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []

    @property
    def optional_body(self) -> frozenset[str]:
        """The properties of a body that may be omitted entirely."""
        found = self.schema.get("dependentRequired")
        return frozenset(found if isinstance(found, dict) else ())

    def property_schema(self, name: str) -> dict[str, JsonValue]:
        found = self.properties.get(name)
        return found if isinstance(found, dict) else {}


def label_uploads(scope: Scope) -> dict[str, Upload]:
    """The files of this conversation by their label in arguments; a second `name` is labelled `name (2)`."""
    labelled: dict[str, Upload] = {}
    for upload in scope.files:
        label, number = upload.name, 1
        while label in labelled:
            number += 1
            label = f"{upload.name} ({number})"
        labelled[label] = upload
    return labelled


def form_of_operation(plugin: Plugin, operation: Operation, scope: Scope) -> SlotForm:
    """Parameters that the plugin's `auth` sets are left out."""
    auth_names = set(list_auth_names(plugin))
    arguments = [one for one in list_fields(operation) if (one.place, normalize_name(one)) not in auth_names]
    files = label_uploads(scope)
    properties: dict[str, JsonValue] = {}
    defs: dict[str, JsonValue] = {}
    for one in arguments:
        schema = copy.deepcopy(dict(one.schema))
        inner = schema.pop("$defs", None)
        defs |= inner if isinstance(inner, dict) else {}
        properties[one.label] = build_file_schema(schema, files) if one.is_file else restrict_to_line(one, schema)
    form_schema: dict[str, JsonValue] = {"type": "object", "properties": properties, "additionalProperties": False}
    form_schema |= find_requirements(operation, arguments) | ({"$defs": defs} if defs else {})
    hidden = frozenset(one.label for one in arguments if one.is_deprecated)
    return SlotForm(form_schema, hidden, files, frozenset(one.label for one in arguments if one.is_file))


def normalize_name(one: OperationField) -> str:
    return one.name.lower() if one.place == "header" else one.name


def find_requirements(operation: Operation, arguments: Iterable[OperationField]) -> dict[str, JsonValue]:
    """An optional body needs its required properties only if it has any property."""
    needed = [one for one in arguments if one.required]
    if operation.body is None or operation.body.required:
        return {"required": [one.label for one in needed]}
    inside: list[JsonValue] = [one.label for one in needed if one.place == "body"]
    dependent: dict[str, JsonValue] = {
        one.label: [label for label in inside if label != one.label] for one in arguments if one.place == "body"
    }
    required: list[JsonValue] = [one.label for one in needed if one.place != "body"]
    return {"required": required, "dependentRequired": dependent}


def restrict_to_line(one: OperationField, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {"pattern": ONE_LINE, **schema} if one.place in ("header", "cookie") else schema


def build_file_schema(schema: dict[str, JsonValue], files: Mapping[str, Upload]) -> dict[str, JsonValue]:
    """A file argument is the label of a file of this conversation."""
    kept = ("description", "title", "minItems", "maxItems", "uniqueItems")
    rest: dict[str, JsonValue] = {key: value for key, value in schema.items() if key in kept}
    names: dict[str, JsonValue] = {"type": "string", "enum": list(files)}
    if not files:
        names = {"type": "string", "not": {}}
    if schema.get("type") == "array" or "items" in schema:
        return {"type": "array", "items": names, **rest}
    return {**names, **rest}


def form_of_schema(schema: Schema) -> SlotForm:
    copied = copy.deepcopy(dict(schema))
    copied.setdefault("type", "object")
    return SlotForm(copied)


def find_constants(form: SlotForm) -> dict[str, JsonValue]:
    """Arguments with only one possible value: a constant, or an enumeration of one. Not those of an optional body."""
    found: dict[str, JsonValue] = {}
    for name in form.properties.keys() - form.hidden - form.optional_body:
        schema = form.property_schema(name)
        values = schema.get("enum")
        if "const" in schema:
            found[name] = schema["const"]
        elif isinstance(values, list) and len(values) == 1 and name not in form.file_fields:
            found[name] = values[0]
    return found


def convert_values(form: SlotForm, args: Mapping[str, JsonValue], owner: str) -> dict[str, JsonValue]:
    """Parse texts as JSON where the schema expects another type. Raises `StepFailed` on an unknown name."""
    if unknown := sorted(set(args) - set(form.properties)):
        names = ", ".join(form.properties) or "none"
        raise StepFailed("internal", f"{owner} has no argument {', '.join(unknown)}. Its arguments: {names}.")
    return {name: convert_value(form.property_schema(name), value) for name, value in args.items()}


def convert_value(schema: Schema, value: JsonValue) -> JsonValue:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if not isinstance(value, str) or "string" in kinds or kind is None:
        return value
    try:
        return external_json.parse(value)
    except ValueError:
        return value
