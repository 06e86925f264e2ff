"""One object schema from all that an operation takes, and what of it is already determined. Pure."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rightseat.core.values import JsonValue
from rightseat.plugins import foreign
from rightseat.plugins.definition import Operation, Plugin, Schema
from rightseat.plugins.operations.authorizing import names_of
from rightseat.plugins.operations.fields import Field, fields
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scene import Scene, Upload

ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
"""What a header and a cookie can hold."""


@dataclass(frozen=True, slots=True)
class Form:
    """`schema` is what the values together must fit. `hidden` are those that no model is asked for."""

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
    def loose(self) -> frozenset[str]:
        """The properties of a body that may be left out as a whole."""
        found = self.schema.get("dependentRequired")
        return frozenset(found if isinstance(found, dict) else ())

    def of(self, name: str) -> dict[str, JsonValue]:
        found = self.properties.get(name)
        return found if isinstance(found, dict) else {}


def uploads(scene: Scene) -> dict[str, Upload]:
    """The files of this conversation by what they are called in arguments; a second of one name is `name (2)`."""
    found: dict[str, Upload] = {}
    for upload in scene.files:
        label, number = upload.name, 1
        while label in found:
            number += 1
            label = f"{upload.name} ({number})"
        found[label] = upload
    return found


def form_of(plugin: Plugin, operation: Operation, scene: Scene) -> Form:
    """Of an operation. What the plugin's `auth` sets is not in it."""
    taken = set(names_of(plugin))
    known = [one for one in fields(operation) if (one.place, spelt(one)) not in taken]
    files = uploads(scene)
    properties: dict[str, JsonValue] = {}
    defs: dict[str, JsonValue] = {}
    for one in known:
        schema = copy.deepcopy(dict(one.schema))
        inner = schema.pop("$defs", None)
        defs |= inner if isinstance(inner, dict) else {}
        properties[one.label] = file_schema(schema, files) if one.is_file else with_place(one, schema)
    whole: dict[str, JsonValue] = {"type": "object", "properties": properties, "additionalProperties": False}
    whole |= requirements(operation, known) | ({"$defs": defs} if defs else {})
    hidden = frozenset(one.label for one in known if one.is_deprecated)
    return Form(whole, hidden, files, frozenset(one.label for one in known if one.is_file))


def spelt(one: Field) -> str:
    return one.name.lower() if one.place == "header" else one.name


def requirements(operation: Operation, known: Iterable[Field]) -> dict[str, JsonValue]:
    """A body that may be left out needs its required properties only if it has any at all."""
    needed = [one for one in known if one.required]
    if operation.body is None or operation.body.required:
        return {"required": [one.label for one in needed]}
    inside: list[JsonValue] = [one.label for one in needed if one.place == "body"]
    dependent: dict[str, JsonValue] = {
        one.label: [label for label in inside if label != one.label] for one in known if one.place == "body"
    }
    required: list[JsonValue] = [one.label for one in needed if one.place != "body"]
    return {"required": required, "dependentRequired": dependent}


def with_place(one: Field, schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {"pattern": ONE_LINE, **schema} if one.place in ("header", "cookie") else schema


def file_schema(schema: dict[str, JsonValue], files: Mapping[str, Upload]) -> dict[str, JsonValue]:
    """A file is one of this conversation's, by its name."""
    kept = ("description", "title", "minItems", "maxItems", "uniqueItems")
    said: dict[str, JsonValue] = {key: value for key, value in schema.items() if key in kept}
    names: dict[str, JsonValue] = {"type": "string", "enum": list(files)}
    if not files:
        names = {"type": "string", "not": {}}
    if schema.get("type") == "array" or "items" in schema:
        return {"type": "array", "items": names, **said}
    return {**names, **said}


def of_schema(schema: Schema) -> Form:
    """Of a tool that says itself what it takes."""
    whole = copy.deepcopy(dict(schema))
    whole.setdefault("type", "object")
    return Form(whole)


def determined(form: Form) -> dict[str, JsonValue]:
    """What can have one value only: a constant, or the single value of an enumeration.

    Not what would bring a body about that may be left out.
    """
    found: dict[str, JsonValue] = {}
    for name in form.properties.keys() - form.hidden - form.loose:
        schema = form.of(name)
        values = schema.get("enum")
        if "const" in schema:
            found[name] = schema["const"]
        elif isinstance(values, list) and len(values) == 1 and name not in form.file_fields:
            found[name] = values[0]
    return found


def fitted(form: Form, args: Mapping[str, JsonValue], what: str) -> dict[str, JsonValue]:
    """Fixed values, with a text where the schema wants something else read as JSON. Raises `StepFailed`."""
    if strange := sorted(set(args) - set(form.properties)):
        known = ", ".join(form.properties) or "nothing"
        raise StepFailed("internal", f"{what} takes no {', '.join(strange)}. It takes {known}.")
    return {name: read_as(form.of(name), value) for name, value in args.items()}


def read_as(schema: Schema, value: JsonValue) -> JsonValue:
    said = schema.get("type")
    types = said if isinstance(said, list) else [said]
    if not isinstance(value, str) or "string" in types or said is None:
        return value
    try:
        return foreign.read(value)
    except ValueError:
        return value
