"""`requestBody` → how a body is sent, and which of its fields are files."""

from typing import Any

from rightseat.plugins.definition import Body, MediaType, Parameter, Schema
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.notes import Node, Notes
from rightseat.plugins.loading.references import References
from rightseat.plugins.loading.schemas import Translator

FORM = "application/x-www-form-urlencoded"
ORIGINAL_FORM = "x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


def read(node: Node, references: References, translator: Translator, notes: Notes) -> Body | None:
    content = node.get("content")
    if content is None or not isinstance(content.value, dict) or not content.value:
        notes.add("E210", node, "the request body has no `content`.", "content: {application/json: {schema: …}}")
        return None
    kind, chosen = _choose(content, notes)
    if chosen is None:
        known = f"application/json, {FORM}, {MULTIPART}"
        notes.add("E210", content, f"no content type here can be sent: {', '.join(content.value)}.", f"use {known}")
        return None
    written = chosen.get("schema")
    schema = translator.translate(written, "request") if written else {}
    fields = Fields(node, notes, "E231")
    is_required = bool(fields.flag("required"))
    if kind != "multipart":
        return Body(kind, schema, is_required)
    return Body(kind, schema, is_required, _files(schema, written or chosen, notes), _encodings(chosen))


def as_query(body: Body) -> list[Parameter]:
    properties = body.schema.get("properties")
    required = body.schema.get("required")
    names = required if isinstance(required, list) else []
    found: list[Parameter] = []
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        if isinstance(schema, dict):
            whole = {**schema, "$defs": body.schema["$defs"]} if "$defs" in body.schema else schema
            description = str(schema.get("description", ""))
            found.append(Parameter(name, "query", whole, name in names, description, "form", True))
    return found


def json_content(node: Node) -> Node | None:
    """What `content` says of JSON, or of the first type that there is."""
    content = node.get("content")
    every = list(content.items()) if content else []
    return next((one for name, one in every if _is_json(name)), every[0][1] if every else None)


def _choose(content: Node, notes: Notes) -> tuple[MediaType, Node | None]:
    """JSON before forms before multipart."""
    every = {name.partition(";")[0].strip().lower(): one for name, one in content.items()}
    for name, one in every.items():
        if _is_json(name):
            return "json", one
    if FORM in every:
        return "form", every[FORM]
    if ORIGINAL_FORM in every:
        said = f"{ORIGINAL_FORM!r} is read as {FORM!r}."
        notes.add("W209", every[ORIGINAL_FORM], said, f"write {FORM}", at="key")
        return "form", every[ORIGINAL_FORM]
    return "multipart", every.get(MULTIPART)


def _is_json(name: str) -> bool:
    bare = name.partition(";")[0].strip().lower()
    return bare == "application/json" or bare.endswith("+json")


def _files(schema: Schema, node: Node, notes: Notes) -> frozenset[str]:
    found: set[str] = set()
    properties = schema.get("properties")
    for name, one in properties.items() if isinstance(properties, dict) else ():
        inner = one.get("items") if isinstance(one, dict) and one.get("type") == "array" else one
        if _is_file(inner):
            found.add(name)
        elif _has_file(inner, 0):
            said = f"a file stands deeper inside the field {name!r}."
            notes.add("E224", node, said, "a file is a field of the body, or a list of them")
    return frozenset(found)


def _is_file(schema: Any) -> bool:
    if not isinstance(schema, dict) or schema.get("type") not in ("string", ["string", "null"], None):
        return False
    return schema.get("format") == "binary" or "contentMediaType" in schema or "contentEncoding" in schema


def _has_file(schema: Any, depth: int) -> bool:
    if isinstance(schema, list):
        return any(_has_file(one, depth + 1) for one in schema)
    if not isinstance(schema, dict) or depth > 50:
        return False
    return schema.get("format") == "binary" or any(_has_file(one, depth + 1) for one in schema.values())


def _encodings(node: Node) -> dict[str, str]:
    encoding = node.get("encoding")
    every = {name: one.get("contentType") for name, one in encoding.items()} if encoding else {}
    return {name: str(one.value) for name, one in every.items() if one is not None}
