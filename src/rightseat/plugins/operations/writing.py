"""From an operation and its arguments to a request, still without what shows who sends it. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Operation, Plugin
from rightseat.plugins.operations import bodies, styles
from rightseat.plugins.operations.bodies import Content
from rightseat.plugins.operations.fields import Field, fields
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scene import Upload

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NEVER = ("host", "content-length", "transfer-encoding", "connection")
"""Headers that say where a request goes and ends: no parameter sets them, nor any that begins with `Proxy-`."""
WITH_BODY = ("POST", "PUT", "PATCH")


@dataclass(frozen=True, slots=True)
class Draft:
    """`query` are pairs, already encoded; `url` is without them."""

    method: str
    url: str
    query: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    cookies: tuple[tuple[str, str], ...] = ()
    content: Content | None = None


def draft(
    plugin: Plugin, operation: Operation, arguments: Mapping[str, JsonValue], files: Mapping[str, Upload]
) -> Draft:
    """Raises `StepFailed`: `bad_path_value`, or `slot_missing` for what is missing or cannot be written."""
    known = fields(operation)
    if strange := sorted(set(arguments) - {field.label for field in known}):
        names = ", ".join(field.label for field in known) or "nothing"
        raise StepFailed("internal", f"{operation.name} takes no {', '.join(strange)}. It takes {names}.")
    given = [(field, arguments[field.label]) for field in known if field.label in arguments]
    query: list[str] = []
    headers: list[tuple[str, str]] = []
    cookies: list[tuple[str, str]] = []
    for field, value in given:
        match field.place, field.parameter:
            case "query", parameter if parameter:
                query += styles.in_query(parameter, value)
            case "header", parameter if parameter:
                headers.append((field.name, header_value(field, styles.in_header(parameter, value))))
            case "cookie", parameter if parameter:
                header_value(field, "".join(leaves(value)))
                cookies += styles.in_cookie(parameter, value)
    content = write_body(operation, given, files)
    if content is not None:
        headers.append(("content-type", content.media_type))
    url = plugin.server + write_path(operation, given)
    return Draft(operation.method, url, tuple(query), tuple(headers), tuple(cookies), content)


def write_path(operation: Operation, given: list[tuple[Field, JsonValue]]) -> str:
    values = {field.name: (field, value) for field, value in given if field.place == "path"}

    def put(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise StepFailed("slot_missing", f"{operation.name} needs {match[1]}.")
        field, value = values[match[1]]
        for text in leaves(value):
            check_path_value(field.name, text)
        return styles.in_path(field.parameter, value) if field.parameter else ""

    return re.sub(r"\{([^{}]+)\}", put, operation.path)


def leaves(value: JsonValue) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in leaves(item)] or [""]
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in leaves(item)] or [""]
    return [styles.plain(value)]


def check_path_value(name: str, text: str) -> None:
    """Escaping is not enough: on the way, or at the other end, somebody may undo it and go up a folder."""
    undone = text
    for _ in range(3):
        undone = unquote(undone)
    segments = re.split(r"[/\\]", undone)
    if not text or CONTROL.search(undone) or any(segment in (".", "..") for segment in segments):
        message = f"{name} is {text[:60]!r}, which cannot be part of a path: it is empty, a dot, or goes up a folder."
        raise StepFailed("bad_path_value", message)


def header_value(field: Field, text: str) -> str:
    name = field.name.lower()
    if field.place == "header" and (name in NEVER or name.startswith("proxy-")):
        raise StepFailed("internal", f"{field.name} is a header that no parameter can set.")
    if CONTROL.search(text):
        raise StepFailed("slot_missing", f"{field.label} has a control character in it, which a {field.place} cannot.")
    return text.encode().decode("latin-1")


def write_body(
    operation: Operation, given: list[tuple[Field, JsonValue]], files: Mapping[str, Upload]
) -> Content | None:
    body = operation.body
    values = {field.name: value for field, value in given if field.place == "body"}
    if body is None or (not values and not body.required):
        return None
    if any(field.is_whole for field, _ in given if field.place == "body"):
        whole = values["body"]
        if body.media_type == "json":
            return bodies.write_json(whole)
        values = whole if isinstance(whole, dict) else {"body": whole}
    match body.media_type:
        case "json":
            return bodies.write_json(values)
        case "form":
            return bodies.write_form(values)
        case "multipart":
            return bodies.write_multipart(body, values, files)
