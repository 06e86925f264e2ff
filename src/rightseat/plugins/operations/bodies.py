"""Encodes request bodies: JSON, forms and multipart forms. Files are decoded in chunks while they are sent."""

import json
import mimetypes
import re
import uuid
from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote_plus

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import RequestBody
from rightseat.plugins.operations.styles import format_value
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scope import Upload

BASE64_CHUNK_CHARS = 64 * 1024  # a multiple of four
UNSPECIFIC_TYPES = ("", "application/octet-stream")
BASE64_PATTERN = re.compile(r"[A-Za-z0-9+/]*={0,2}")


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """A request body, and its preview for people in `shown`. It can be iterated more than once."""

    media_type: str
    parts: tuple[bytes | Upload, ...]
    shown: JsonValue

    @property
    def length(self) -> int:
        return sum(compute_size(part) if isinstance(part, Upload) else len(part) for part in self.parts)

    def __iter__(self) -> Iterator[bytes]:
        for part in self.parts:
            if isinstance(part, bytes):
                yield part
                continue
            for start in range(0, len(part.data), BASE64_CHUNK_CHARS):
                yield a2b_base64(part.data[start : start + BASE64_CHUNK_CHARS])


def compute_size(upload: Upload) -> int:
    return len(upload.data) * 3 // 4 - upload.data[-2:].count("=")


def write_json(value: JsonValue) -> EncodedBody:
    return EncodedBody("application/json", (json.dumps(value, ensure_ascii=False).encode(),), value)


def write_form(values: Mapping[str, JsonValue]) -> EncodedBody:
    pairs = [(name, text) for name, value in values.items() for text in format_fields(value)]
    written = "&".join(f"{quote_plus(name)}={quote_plus(text)}" for name, text in pairs)
    return EncodedBody("application/x-www-form-urlencoded", (written.encode(),), dict(values))


def write_multipart(body: RequestBody, values: Mapping[str, JsonValue], files: Mapping[str, Upload]) -> EncodedBody:
    """Raises `StepFailed` for a file that is not in this thread, or whose media type the API does not accept."""
    boundary = uuid.uuid4().hex
    parts: list[bytes | Upload] = []
    shown: dict[str, JsonValue] = {}
    for name, value in values.items():
        if name in body.files:
            labels = value if isinstance(value, list) else [value]
            uploads = [find_upload(name, label, files) for label in labels]
            for upload in uploads:
                kind = check_media_type(name, upload, body.encodings.get(name, ""))
                disposition = f'form-data; name="{escape_quoted(name)}"; filename="{escape_quoted(upload.name)}"'
                parts += [encode_part_head(boundary, disposition, kind), upload, b"\r\n"]
            shown[name] = [f"<{upload.name}, {compute_size(upload):,} bytes>" for upload in uploads]
        else:
            disposition = f'form-data; name="{escape_quoted(name)}"'
            parts += [
                encode_part_head(boundary, disposition) + text.encode() + b"\r\n" for text in format_fields(value)
            ]
            shown[name] = value
    return EncodedBody(f"multipart/form-data; boundary={boundary}", (*parts, f"--{boundary}--\r\n".encode()), shown)


def format_fields(value: JsonValue) -> list[str]:
    """Return one text per field: a list becomes several fields; objects, numbers and booleans become JSON."""
    return [format_value(item) for item in value] if isinstance(value, list) else [format_value(value)]


def encode_part_head(boundary: str, disposition: str, kind: str = "") -> bytes:
    type_line = f"\r\nContent-Type: {kind}" if kind else ""
    return f"--{boundary}\r\nContent-Disposition: {disposition}{type_line}\r\n\r\n".encode()


def escape_quoted(text: str) -> str:
    """Escape quotes and line breaks as browsers do, and drop control characters."""
    escaped = text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    return "".join(character for character in escaped if character >= " " and character != "\x7f")


def find_upload(field: str, label: JsonValue, files: Mapping[str, Upload]) -> Upload:
    upload = files.get(label) if isinstance(label, str) else None
    if upload is None:
        known = ", ".join(files) or "none"
        raise StepFailed(
            "slot_missing", f"{field}: the conversation has no file {format_value(label)!r}. Available files: {known}."
        )
    if len(upload.data) % 4 or not BASE64_PATTERN.fullmatch(upload.data):
        raise StepFailed("slot_missing", f"{field}: the content of the file {upload.name!r} is not valid Base64.")
    return upload


def check_media_type(field: str, upload: Upload, declared: str) -> str:
    """Return the media type as uploaded, or guessed from the name. Raises `StepFailed` if it is not accepted."""
    kind = upload.media_type.partition(";")[0].strip().lower()
    if kind in UNSPECIFIC_TYPES:
        kind = mimetypes.guess_type(upload.name)[0] or "application/octet-stream"
    wanted = [entry.partition(";")[0].strip().lower() for entry in declared.split(",") if entry.strip()]
    if wanted and not any(matches_media_type(kind, entry) for entry in wanted):
        message = f"{field}: {upload.name!r} is {kind}; it should be {' or '.join(wanted)}."
        raise StepFailed("slot_missing", message)
    return escape_quoted(kind)


def matches_media_type(kind: str, entry: str) -> bool:
    return entry in ("*/*", kind) or (entry.endswith("/*") and kind.startswith(entry[:-1]))
