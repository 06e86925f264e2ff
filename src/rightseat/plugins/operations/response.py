"""Converts the response of an API to the result of a step: JSON, text or files, with warnings about mismatches."""

import base64
import codecs
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message

from rightseat.core.types import JsonValue
from rightseat.egress.untrusted import FetchResponse
from rightseat.plugins import external_json
from rightseat.plugins.definition import Operation, Schema
from rightseat.plugins.operations import validation
from rightseat.plugins.results import Artifact, StepFailed, check_depth

MAX_BODY_CHARS = 2000  # of an error response, kept in the details
MAX_HINT_CHARS = 200  # of an error response, shown in the message
MAX_REPORTED_VIOLATIONS = 5
UNREADABLE = "null, or as the replacement character"
TEXT_TYPES = (
    "application/xml",
    "application/javascript",
    "application/yaml",
    "application/x-yaml",
    "application/x-ndjson",
    "application/graphql",
    "application/x-www-form-urlencoded",
    "application/sql",
    "image/svg+xml",
)

UNSAFE_CODECS = frozenset(("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"))
"""Python codecs that are not charsets. idna and punycode take quadratic time; others decode to lone surrogates."""


@dataclass(frozen=True, slots=True)
class OperationResponse:
    output: JsonValue
    artifacts: tuple[Artifact, ...] = ()
    warnings: tuple[str, ...] = ()


def read(operation: Operation, url: str, incoming: FetchResponse) -> OperationResponse:
    """Raises `StepFailed` for anything but a success."""
    if 300 <= incoming.status < 400:
        location = incoming.headers.get("location", "nowhere")[:MAX_HINT_CHARS]
        message = (
            f"{operation.name} returned HTTP {incoming.status}, a redirect to {location}. Redirects are not followed."
        )
        raise StepFailed("redirect", message, status=incoming.status, details={"sent": True})
    if not 200 <= incoming.status < 300:
        raise build_http_error(operation, incoming)
    if incoming.status == 204 or not incoming.content:
        return OperationResponse(None)
    media_type = incoming.headers.get("content-type", "")
    kind = media_type.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json") or not kind:
        return read_json(operation, incoming.content, find_charset(media_type), is_declared=bool(kind))
    if kind.startswith("text/") or kind.endswith("+xml") or kind in TEXT_TYPES:
        return OperationResponse(decode_text(incoming.content, find_charset(media_type)))
    return read_file(url, kind, incoming)


def build_http_error(operation: Operation, incoming: FetchResponse) -> StepFailed:
    """Build the error with the documented meaning of the status and the API's own message."""
    body = decode_text(incoming.content, find_charset(incoming.headers.get("content-type", "")))
    documented = operation.statuses.get(str(incoming.status)) or operation.statuses.get(f"{incoming.status // 100}XX")
    message = f"{operation.name} returned HTTP {incoming.status}" + (f" ({documented.strip()})" if documented else "")
    hint = " ".join(find_hint(body).split())[:MAX_HINT_CHARS]
    details: dict[str, JsonValue] = {"sent": True, "body": body[:MAX_BODY_CHARS]}
    after = incoming.headers.get("retry-after", "")
    if after.isdecimal():
        details["retry_after"] = int(after)
    return StepFailed("http_status", f"{message}: {hint}" if hint else f"{message}.", status=incoming.status,
                      details=details)  # fmt: skip


def find_hint(body: str) -> str:
    """Return the human-readable message of an error body."""
    try:
        read = external_json.parse(body)
    except ValueError:
        return "" if body.lstrip().startswith("<") else body
    if isinstance(read, dict):
        found = (read.get(name) for name in ("detail", "message", "error_description", "error", "title"))
        return next((text for text in found if isinstance(text, str) and text), body)
    return body


def read_json(operation: Operation, content: bytes, encoding: str, *, is_declared: bool) -> OperationResponse:
    text = decode_text(content, encoding)
    try:
        repaired: list[str] = []
        value = external_json.parse(text, repaired)
    except ValueError:
        warning = "The response is declared as JSON but is not valid JSON; it is treated as text."
        return OperationResponse(text, warnings=(warning,) if is_declared else ())
    check_depth(value)
    warnings = [*find_mismatches(operation, value)]
    if repaired:
        warnings.append(f"The response contains {repaired[0]}, which is not valid JSON; it is read as {UNREADABLE}.")
    found: list[Artifact] = []
    output = extract_files(operation.response or {}, value, (operation.response or {}).get("$defs"), found)
    return OperationResponse(output, tuple(found), tuple(warnings))


def find_mismatches(operation: Operation, value: JsonValue) -> Iterator[str]:
    """Yield a warning for each place where the response differs from its schema. The step does not fail."""
    if not operation.response:
        return
    try:
        found = validation.find_violations(operation.response, value)
    except ValueError:
        yield "The schema of the response is invalid; the response was not validated."
        return
    yield from (
        f"The response does not match its schema: {violation.text}" for violation in found[:MAX_REPORTED_VIOLATIONS]
    )
    if len(found) > MAX_REPORTED_VIOLATIONS:
        yield f"The response does not match its schema in {len(found) - MAX_REPORTED_VIOLATIONS} more places."


def extract_files(schema: Schema, value: JsonValue, defs: JsonValue, found: list[Artifact]) -> JsonValue:
    """Replace the files in the value by their name and size, and append them to `found`."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and isinstance(defs, dict):
        named = defs.get(reference.rpartition("/")[2])
        return extract_files(named, value, defs, found) if isinstance(named, dict) else value
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(keyword)
        for branch in branches if isinstance(branches, list) else []:
            if isinstance(branch, dict):
                value = extract_files(branch, value, defs, found)
    items, properties = schema.get("items"), schema.get("properties")
    if isinstance(value, list) and isinstance(items, dict):
        return [extract_files(items, item, defs, found) for item in value]
    if isinstance(value, dict) and isinstance(properties, dict):
        return {key: extract_property(properties.get(key), key, value, defs, found) for key in value}
    return value


def extract_property(
    schema: JsonValue, key: str, parent: dict[str, JsonValue], defs: JsonValue, found: list[Artifact]
) -> JsonValue:
    value, name = parent[key], parent.get("name")
    if not isinstance(schema, dict):
        return value
    if schema.get("x-file-content") is True and isinstance(value, str) and isinstance(name, str):
        content = decode_base64(value) if schema.get("contentEncoding") == "base64" else value.encode()
        data = base64.b64encode(content).decode()
        found.append(build_file_artifact(name, mimetypes.guess_type(name)[0] or "", data))
        return f"<{found[-1].name}, {found[-1].size:,} bytes>"
    return extract_files(schema, value, defs, found)


def decode_base64(text: str) -> bytes:
    """Decode Base64, also with line breaks. Text that is not Base64 is returned as it is."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return text.encode()


def read_file(url: str, kind: str, incoming: FetchResponse) -> OperationResponse:
    data = base64.b64encode(incoming.content).decode()
    artifact = build_file_artifact(
        choose_file_name(url, kind, incoming.headers.get("content-disposition", "")), kind, data
    )
    return OperationResponse({"name": artifact.name, "media_type": kind, "size": artifact.size}, (artifact,))


def build_file_artifact(name: str, kind: str, data: str) -> Artifact:
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return Artifact("file", sanitize_file_name(name), kind, size=size, data=data)


def choose_file_name(url: str, kind: str, disposition: str) -> str:
    message = Message()
    message["content-disposition"] = disposition or "attachment"
    declared = message.get_filename()
    last = url.partition("?")[0].rpartition("/")[2]
    return declared or (last if "." in last else f"{last or 'file'}{mimetypes.guess_extension(kind) or '.bin'}")


def sanitize_file_name(name: str) -> str:
    """Return a plain file name without path or control characters."""
    plain = re.sub(r"[\x00-\x1f\x7f]", "", re.split(r"[/\\]", name)[-1]).strip().lstrip(".")
    return plain[:200] or "file"


def find_charset(media_type: str) -> str:
    match = re.search(r"charset=\"?([A-Za-z0-9_.:-]+)", media_type, re.IGNORECASE)
    return match[1] if match else "utf-8"


def decode_text(content: bytes, encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
        return content.decode("utf-8" if name in UNSAFE_CODECS else name, "replace").removeprefix("\ufeff")
    except LookupError:
        return content.decode("utf-8", "replace").removeprefix("\ufeff")
