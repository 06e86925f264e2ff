"""Decodes file contents: base64 or text to bytes, and bytes to text."""

import base64
import binascii
import re

from rightseat.core.errors import UnreadableFile
from rightseat.data.documents.kinds import TEXTS, detect_kind

_BASE64 = re.compile(r"[A-Za-z0-9+/_\s-]+(?:={1,2}\s*)?")  # unambiguous: backtracking would take quadratic time
_DATA_URL = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
MIN_BASE64_CHARS = 8  # shorter text is never taken for base64


def decode(content: str, kind: str) -> bytes:
    """Decode base64 or a data URL. A text file, or one of unknown kind, may be given as plain text."""
    if start := _DATA_URL.match(content):
        return read_base64(content[start.end() :])
    if kind and kind not in TEXTS:
        return read_base64(content)
    if len(content) >= MIN_BASE64_CHARS and _BASE64.fullmatch(content) and not re.search(r"\S +\S", content):
        try:
            data = read_base64(content)
            if detect_kind(data) != "txt" or not _CONTROL.search(data.decode("utf-8")):
                return data
        except (UnreadableFile, UnicodeDecodeError):
            pass  # plain words made of base64 characters
    return content.encode("utf-8", "replace")


def read_base64(text: str) -> bytes:
    encoded = "".join(text.split()).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise UnreadableFile("The file is not valid base64.") from None


def read_text(data: bytes) -> tuple[str, str]:
    """The text, and a note if its encoding was guessed."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), ""
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), "The text is not UTF-8; it was read as Windows-1252."
