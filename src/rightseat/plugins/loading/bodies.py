"""Reads `requestBody` of OpenAPI: the media type, the schema, and which fields are files."""

from typing import Any

from rightseat.plugins.definition import MediaType, Parameter, RequestBody, Schema
from rightseat.plugins.loading.fields import Fields
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode
from rightseat.plugins.loading.references import References
from rightseat.plugins.loading.schemas import SchemaTranslator

FORM = "application/x-www-form-urlencoded"
ORIGINAL_FORM = "x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


def read(
    node: SourceNode, references: References, translator: SchemaTranslator, report: DiagnosticReport
) -> RequestBody | None:
    content = node.get("content")
    if content is None or not isinstance(content.value, dict) or not content.value:
        report.add("E210", node, "the request body has no `content`.", "content: {application/json: {schema: …}}")
        return None
    kind, chosen = _choose(content, report)
    if chosen is None:
        known = f"application/json, {FORM}, {MULTIPART}"
        report.add("E210", content, f"unsupported content types: {', '.join(content.value)}.", f"use {known}")
        return None
    written = chosen.get("schema")
    schema = translator.translate(written, "request") if written else {}
    fields = Fields(node, report, "E231")
    is_required = bool(fields.flag("required"))
    if kind != "multipart":
        return RequestBody(kind, schema, is_required)
    return RequestBody(
        kind, schema, is_required, _find_file_fields(schema, written or chosen, report), _read_encodings(chosen)
    )


def to_query_parameters(body: RequestBody) -> list[Parameter]:
    properties = body.schema.get("properties")
    required = body.schema.get("required")
    names = required if isinstance(required, list) else []
    found: list[Parameter] = []
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        if isinstance(schema, dict):
            full_schema = {**schema, "$defs": body.schema["$defs"]} if "$defs" in body.schema else schema
            description = str(schema.get("description", ""))
            found.append(Parameter(name, "query", full_schema, name in names, description, "form", True))
    return found


def find_json_content(node: SourceNode) -> SourceNode | None:
    """Return the JSON entry of `content`, or the first entry."""
    content = node.get("content")
    every = list(content.items()) if content else []
    return next((one for name, one in every if _is_json(name)), every[0][1] if every else None)


def _choose(content: SourceNode, report: DiagnosticReport) -> tuple[MediaType, SourceNode | None]:
    """Prefer JSON, then forms, then multipart."""
    every = {name.partition(";")[0].strip().lower(): one for name, one in content.items()}
    for name, one in every.items():
        if _is_json(name):
            return "json", one
    if FORM in every:
        return "form", every[FORM]
    if ORIGINAL_FORM in every:
        message = f"{ORIGINAL_FORM!r} is read as {FORM!r}."
        report.add("W209", every[ORIGINAL_FORM], message, f"write {FORM}", at="key")
        return "form", every[ORIGINAL_FORM]
    return "multipart", every.get(MULTIPART)


def _is_json(name: str) -> bool:
    bare = name.partition(";")[0].strip().lower()
    return bare == "application/json" or bare.endswith("+json")


def _find_file_fields(schema: Schema, node: SourceNode, report: DiagnosticReport) -> frozenset[str]:
    found: set[str] = set()
    properties = schema.get("properties")
    for name, one in properties.items() if isinstance(properties, dict) else ():
        inner = one.get("items") if isinstance(one, dict) and one.get("type") == "array" else one
        if _is_file(inner):
            found.add(name)
        elif _has_file(inner, 0):
            message = f"the field {name!r} contains a nested file."
            report.add("E224", node, message, "make the file a field of the body, or a list of files")
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


def _read_encodings(node: SourceNode) -> dict[str, str]:
    encoding = node.get("encoding")
    every = {name: one.get("contentType") for name, one in encoding.items()} if encoding else {}
    return {name: str(one.value) for name, one in every.items() if one is not None}
