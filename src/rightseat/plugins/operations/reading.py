"""From an answer of an API to the result of a step: JSON, text, files, and what is wrong with it."""

import base64
import codecs
import mimetypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message

from rightseat.core.values import JsonValue
from rightseat.egress.door import Incoming
from rightseat.plugins import foreign
from rightseat.plugins.definition import Operation, Schema
from rightseat.plugins.operations import checking
from rightseat.plugins.results import Artifact, StepFailed, check_depth

BODY_SHOWN = 2000  # characters of a refusal that are kept
HINT_SHOWN = 200  # characters of it that are told
FLAWS_SHOWN = 5
UNREADABLE = "null, or as the sign for what cannot be read"
TEXTS = ("application/xml", "application/javascript", "application/yaml", "application/x-yaml", "application/x-ndjson",
         "application/graphql", "application/x-www-form-urlencoded", "application/sql", "image/svg+xml")  # fmt: skip

NO_CHARSETS = frozenset(("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"))
"""What Python has beside them. Names of hosts in these take the square of their length; others give half characters."""


@dataclass(frozen=True, slots=True)
class Reply:
    output: JsonValue
    artifacts: tuple[Artifact, ...] = ()
    warnings: tuple[str, ...] = ()


def read(operation: Operation, url: str, incoming: Incoming) -> Reply:
    """Raises `StepFailed` for anything but a success."""
    if 300 <= incoming.status < 400:
        where = incoming.headers.get("location", "nowhere")[:HINT_SHOWN]
        message = f"{operation.name} answered {incoming.status}: it leads to {where}, and redirects are not followed."
        raise StepFailed("redirect", message, status=incoming.status, details={"sent": True})
    if not 200 <= incoming.status < 300:
        raise refused(operation, incoming)
    if incoming.status == 204 or not incoming.content:
        return Reply(None)
    media_type = incoming.headers.get("content-type", "")
    kind = media_type.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json") or not kind:
        return read_json(operation, incoming.content, charset(media_type), is_said=bool(kind))
    if kind.startswith("text/") or kind.endswith("+xml") or kind in TEXTS:
        return Reply(decoded(incoming.content, charset(media_type)))
    return read_file(url, kind, incoming)


def refused(operation: Operation, incoming: Incoming) -> StepFailed:
    """With what the document says of the status, and what the API itself says."""
    body = decoded(incoming.content, charset(incoming.headers.get("content-type", "")))
    documented = operation.statuses.get(str(incoming.status)) or operation.statuses.get(f"{incoming.status // 100}XX")
    message = f"{operation.name} answered {incoming.status}" + (f" ({documented.strip()})" if documented else "")
    hint = " ".join(hint_in(body).split())[:HINT_SHOWN]
    details: dict[str, JsonValue] = {"sent": True, "body": body[:BODY_SHOWN]}
    after = incoming.headers.get("retry-after", "")
    if after.isdecimal():
        details["retry_after"] = int(after)
    return StepFailed("http_status", f"{message}: {hint}" if hint else f"{message}.", status=incoming.status,
                      details=details)  # fmt: skip


def hint_in(body: str) -> str:
    """The sentence that most APIs put into their refusals."""
    try:
        read = foreign.read(body)
    except ValueError:
        return "" if body.lstrip().startswith("<") else body
    if isinstance(read, dict):
        found = (read.get(name) for name in ("detail", "message", "error_description", "error", "title"))
        return next((text for text in found if isinstance(text, str) and text), body)
    return body


def read_json(operation: Operation, content: bytes, encoding: str, *, is_said: bool) -> Reply:
    text = decoded(content, encoding)
    try:
        mended: list[str] = []
        value = foreign.read(text, mended)
    except ValueError:
        warning = "The answer says that it is JSON, and is not: it is taken as text."
        return Reply(text, warnings=(warning,) if is_said else ())
    check_depth(value)
    warnings = [*mismatches(operation, value)]
    if mended:
        warnings.append(f"The answer has {mended[0]} in it, which is no JSON: it is read as {UNREADABLE}.")
    found: list[Artifact] = []
    output = taken_out(operation.response or {}, value, (operation.response or {}).get("$defs"), found)
    return Reply(output, tuple(found), tuple(warnings))


def mismatches(operation: Operation, value: JsonValue) -> Iterator[str]:
    """Where the answer is not as the document says. That is worth a note and no failure."""
    if not operation.response:
        return
    try:
        found = checking.flaws(operation.response, value)
    except ValueError:
        yield "The schema of the answer cannot be used."
        return
    yield from (f"The answer is not as documented: {flaw.text}" for flaw in found[:FLAWS_SHOWN])
    if len(found) > FLAWS_SHOWN:
        yield f"The answer is not as documented in {len(found) - FLAWS_SHOWN} more places."


def taken_out(schema: Schema, value: JsonValue, defs: JsonValue, found: list[Artifact]) -> JsonValue:
    """The value with its files replaced by a word about them; the files are added to `found`."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and isinstance(defs, dict):
        named = defs.get(reference.rpartition("/")[2])
        return taken_out(named, value, defs, found) if isinstance(named, dict) else value
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches = schema.get(keyword)
        for branch in branches if isinstance(branches, list) else []:
            if isinstance(branch, dict):
                value = taken_out(branch, value, defs, found)
    items, properties = schema.get("items"), schema.get("properties")
    if isinstance(value, list) and isinstance(items, dict):
        return [taken_out(items, item, defs, found) for item in value]
    if isinstance(value, dict) and isinstance(properties, dict):
        return {key: property_of(properties.get(key), key, value, defs, found) for key in value}
    return value


def property_of(
    schema: JsonValue, key: str, parent: dict[str, JsonValue], defs: JsonValue, found: list[Artifact]
) -> JsonValue:
    value, name = parent[key], parent.get("name")
    if not isinstance(schema, dict):
        return value
    if schema.get("x-file-content") is True and isinstance(value, str) and isinstance(name, str):
        content = unpacked(value) if schema.get("contentEncoding") == "base64" else value.encode()
        data = base64.b64encode(content).decode()
        found.append(file_artifact(name, mimetypes.guess_type(name)[0] or "", data))
        return f"<{found[-1].name}, {found[-1].size:,} bytes>"
    return taken_out(schema, value, defs, found)


def unpacked(text: str) -> bytes:
    """From Base64, also in lines. What is none, whatever the document says, is a text."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return text.encode()


def read_file(url: str, kind: str, incoming: Incoming) -> Reply:
    data = base64.b64encode(incoming.content).decode()
    artifact = file_artifact(file_name(url, kind, incoming.headers.get("content-disposition", "")), kind, data)
    return Reply({"name": artifact.name, "media_type": kind, "size": artifact.size}, (artifact,))


def file_artifact(name: str, kind: str, data: str) -> Artifact:
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return Artifact("file", safe_name(name), kind, size=size, data=data)


def file_name(url: str, kind: str, disposition: str) -> str:
    message = Message()
    message["content-disposition"] = disposition or "attachment"
    said = message.get_filename()
    last = url.partition("?")[0].rpartition("/")[2]
    return said or (last if "." in last else f"{last or 'file'}{mimetypes.guess_extension(kind) or '.bin'}")


def safe_name(name: str) -> str:
    """A name and no path."""
    plain = re.sub(r"[\x00-\x1f\x7f]", "", re.split(r"[/\\]", name)[-1]).strip().lstrip(".")
    return plain[:200] or "file"


def charset(media_type: str) -> str:
    match = re.search(r"charset=\"?([A-Za-z0-9_.:-]+)", media_type, re.IGNORECASE)
    return match[1] if match else "utf-8"


def decoded(content: bytes, encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
        return content.decode("utf-8" if name in NO_CHARSETS else name, "replace").removeprefix("\ufeff")
    except LookupError:
        return content.decode("utf-8", "replace").removeprefix("\ufeff")
