"""Bodies of requests: JSON, forms, and forms with files. A file is decoded while it is sent, never as a whole."""

import json
import mimetypes
import re
import uuid
from binascii import a2b_base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote_plus

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Body
from rightseat.plugins.operations.styles import plain
from rightseat.plugins.results import StepFailed
from rightseat.plugins.scene import Upload

AT_ONCE = 64 * 1024  # characters of Base64, a multiple of four
UNKNOWN = ("", "application/octet-stream")
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


@dataclass(frozen=True, slots=True)
class Content:
    """A body as it is sent, and as it is shown to people before. It can be gone through more than once."""

    media_type: str
    parts: tuple[bytes | Upload, ...]
    shown: JsonValue

    @property
    def length(self) -> int:
        return sum(size(part) if isinstance(part, Upload) else len(part) for part in self.parts)

    def __iter__(self) -> Iterator[bytes]:
        for part in self.parts:
            if isinstance(part, bytes):
                yield part
                continue
            for start in range(0, len(part.data), AT_ONCE):
                yield a2b_base64(part.data[start : start + AT_ONCE])


def size(upload: Upload) -> int:
    return len(upload.data) * 3 // 4 - upload.data[-2:].count("=")


def write_json(value: JsonValue) -> Content:
    return Content("application/json", (json.dumps(value, ensure_ascii=False).encode(),), value)


def write_form(values: Mapping[str, JsonValue]) -> Content:
    pairs = [(name, text) for name, value in values.items() for text in texts(value)]
    written = "&".join(f"{quote_plus(name)}={quote_plus(text)}" for name, text in pairs)
    return Content("application/x-www-form-urlencoded", (written.encode(),), dict(values))


def write_multipart(body: Body, values: Mapping[str, JsonValue], files: Mapping[str, Upload]) -> Content:
    """Raises `StepFailed` for a file that this conversation does not have, or of a kind that nobody asked for."""
    boundary = uuid.uuid4().hex
    parts: list[bytes | Upload] = []
    shown: dict[str, JsonValue] = {}
    for name, value in values.items():
        if name in body.files:
            labels = value if isinstance(value, list) else [value]
            uploads = [found(name, label, files) for label in labels]
            for upload in uploads:
                kind = checked(name, upload, body.encodings.get(name, ""))
                disposition = f'form-data; name="{safe(name)}"; filename="{safe(upload.name)}"'
                parts += [head(boundary, disposition, kind), upload, b"\r\n"]
            shown[name] = [f"<{upload.name}, {size(upload):,} bytes>" for upload in uploads]
        else:
            disposition = f'form-data; name="{safe(name)}"'
            parts += [head(boundary, disposition) + text.encode() + b"\r\n" for text in texts(value)]
            shown[name] = value
    return Content(f"multipart/form-data; boundary={boundary}", (*parts, f"--{boundary}--\r\n".encode()), shown)


def texts(value: JsonValue) -> list[str]:
    """A list is as many fields; an object, a number or a boolean is JSON."""
    return [plain(item) for item in value] if isinstance(value, list) else [plain(value)]


def head(boundary: str, disposition: str, kind: str = "") -> bytes:
    type_line = f"\r\nContent-Type: {kind}" if kind else ""
    return f"--{boundary}\r\nContent-Disposition: {disposition}{type_line}\r\n\r\n".encode()


def safe(text: str) -> str:
    """As browsers write it: without what would end the value, or the line."""
    escaped = text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
    return "".join(character for character in escaped if character >= " " and character != "\x7f")


def found(field: str, label: JsonValue, files: Mapping[str, Upload]) -> Upload:
    upload = files.get(label) if isinstance(label, str) else None
    if upload is None:
        known = ", ".join(files) or "none"
        raise StepFailed("slot_missing", f"{field}: this conversation has no file {plain(label)!r}. It has: {known}.")
    if len(upload.data) % 4 or not BASE64.fullmatch(upload.data):
        raise StepFailed("slot_missing", f"{field}: the file {upload.name!r} is broken: its content is no Base64.")
    return upload


def checked(field: str, upload: Upload, declared: str) -> str:
    """The kind of a file: what it came as, or what its name says."""
    kind = upload.media_type.partition(";")[0].strip().lower()
    if kind in UNKNOWN:
        kind = mimetypes.guess_type(upload.name)[0] or "application/octet-stream"
    wanted = [entry.partition(";")[0].strip().lower() for entry in declared.split(",") if entry.strip()]
    if wanted and not any(is_of(kind, entry) for entry in wanted):
        message = f"{field}: {upload.name!r} is {kind}; it should be {' or '.join(wanted)}."
        raise StepFailed("slot_missing", message)
    return safe(kind)


def is_of(kind: str, entry: str) -> bool:
    return entry in ("*/*", kind) or (entry.endswith("/*") and kind.startswith(entry[:-1]))
