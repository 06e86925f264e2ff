"""Builds a request from an operation and its arguments, without credentials and without I/O."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Operation, Plugin
from rightseat.plugins.operations import bodies, styles
from rightseat.plugins.operations.bodies import EncodedBody
from rightseat.plugins.operations.fields import OperationField, list_fields
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scope import Upload

CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
FORBIDDEN_HEADERS = ("host", "content-length", "transfer-encoding", "connection")
"""Headers that control routing and framing; parameters may not set these, nor any that begins with `Proxy-`."""
METHODS_WITH_BODY = ("POST", "PUT", "PATCH")


@dataclass(frozen=True, slots=True)
class RequestDraft:
    """A request without credentials. `query` are encoded pairs; `url` does not contain them."""

    method: str
    url: str
    query: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    content: EncodedBody | None = None


def build_draft(
    plugin: Plugin, operation: Operation, arguments: Mapping[str, JsonValue], files: Mapping[str, Upload]
) -> RequestDraft:
    """Raises `StepFailed`: `bad_path_value`, or `slot_missing` for values that are missing or cannot be encoded."""
    known = list_fields(operation)
    if unknown := sorted(set(arguments) - {field.label for field in known}):
        names = ", ".join(field.label for field in known) or "nothing"
        raise StepFailed(
            "internal", f"{operation.name} has no parameter {', '.join(unknown)}. Its parameters: {names}."
        )
    given = [(field, arguments[field.label]) for field in known if field.label in arguments]
    query: list[str] = []
    headers: list[tuple[str, str]] = []
    cookies: list[tuple[str, str]] = []
    for field, value in given:
        match field.place, field.parameter:
            case "query", parameter if parameter:
                query += styles.format_query(parameter, value)
            case "header", parameter if parameter:
                headers.append((field.name, encode_header_value(field, styles.format_header(parameter, value))))
            case "cookie", parameter if parameter:
                encode_header_value(field, "".join(list_leaves(value)))
                cookies += styles.format_cookie(parameter, value)
    content = write_body(operation, given, files)
    if content is not None:
        headers.append(("content-type", content.media_type))
    url = plugin.server + write_path(operation, given)
    return RequestDraft(operation.method, url, tuple(query), tuple(headers), tuple(cookies), content)


def write_path(operation: Operation, given: list[tuple[OperationField, JsonValue]]) -> str:
    values = {field.name: (field, value) for field, value in given if field.place == "path"}

    def put(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise StepFailed("slot_missing", f"{operation.name} requires {match[1]}.")
        field, value = values[match[1]]
        for text in list_leaves(value):
            check_path_value(field.name, text)
        return styles.format_path(field.parameter, value) if field.parameter else ""

    return re.sub(r"\{([^{}]+)\}", put, operation.path)


def list_leaves(value: JsonValue) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in list_leaves(item)] or [""]
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in list_leaves(item)] or [""]
    return [styles.format_value(value)]


def check_path_value(name: str, text: str) -> None:
    """Escaping is not enough: a proxy or the server may unescape the value and traverse to a parent folder."""
    unescaped = text
    for _ in range(3):
        unescaped = unquote(unescaped)
    segments = re.split(r"[/\\]", unescaped)
    if not text or CONTROL_CHARACTER.search(unescaped) or any(segment in (".", "..") for segment in segments):
        message = f"{name} is {text[:60]!r}, which is not allowed in a path: it is empty or contains `.` or `..`."
        raise StepFailed("bad_path_value", message)


def encode_header_value(field: OperationField, text: str) -> str:
    name = field.name.lower()
    if field.place == "header" and (name in FORBIDDEN_HEADERS or name.startswith("proxy-")):
        raise StepFailed("internal", f"the header {field.name} is one that no parameter can set.")
    if CONTROL_CHARACTER.search(text):
        raise StepFailed(
            "slot_missing", f"{field.label} has a control character, which is not allowed in a {field.place}."
        )
    return text.encode().decode("latin-1")


def write_body(
    operation: Operation, given: list[tuple[OperationField, JsonValue]], files: Mapping[str, Upload]
) -> EncodedBody | None:
    body = operation.body
    values = {field.name: value for field, value in given if field.place == "body"}
    if body is None or (not values and not body.required):
        return None
    if any(field.is_entire_body for field, _ in given if field.place == "body"):
        value = values["body"]
        if body.media_type == "json":
            return bodies.write_json(value)
        values = value if isinstance(value, dict) else {"body": value}
    match body.media_type:
        case "json":
            return bodies.write_json(values)
        case "form":
            return bodies.write_form(values)
        case "multipart":
            return bodies.write_multipart(body, values, files)
