"""From what stands in a message to the bytes of a file, and from bytes to text."""

import base64
import binascii
import re

from rightseat.core.errors import Unreadable
from rightseat.data.documents.kinds import TEXTS, by_bytes

_BASE64 = re.compile(r"[A-Za-z0-9+/_\s-]+(?:={1,2}\s*)?")  # one way to match: two would take quadratic time
_DATA_URL = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
SHORTEST = 8  # characters below which text is text, even if it might be base64 as well


def decode(content: str, kind: str) -> bytes:
    """The bytes of base64, also of a data URL. Of a text file, or one of unknown kind, it may be the text itself."""
    if start := _DATA_URL.match(content):
        return read_base64(content[start.end() :])
    if kind and kind not in TEXTS:
        return read_base64(content)
    if len(content) >= SHORTEST and _BASE64.fullmatch(content) and not re.search(r"\S +\S", content):
        try:
            data = read_base64(content)
            if by_bytes(data) != "txt" or not _CONTROL.search(data.decode("utf-8")):
                return data
        except (Unreadable, UnicodeDecodeError):
            pass  # words that use no other letters than base64 does
    return content.encode("utf-8", "replace")


def read_base64(text: str) -> bytes:
    packed = "".join(text.split()).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise Unreadable("The file is no base64, as it should be.") from None


def read_text(data: bytes) -> tuple[str, str]:
    """The text, and a note where its encoding had to be guessed."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), ""
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), "The text is not UTF-8; it was read as Windows-1252."
