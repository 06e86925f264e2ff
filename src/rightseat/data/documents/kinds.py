"""Detects the kind of a file: by the declared type, else its name, else its first bytes."""

from rightseat.core.errors import UnreadableFile

TEXTS = frozenset({"csv", "html", "json", "md", "txt"})
IMAGES = frozenset({"gif", "jpeg", "png", "webp"})
KINDS = TEXTS | IMAGES | {"docx", "pdf", "xlsx"}

ALIASES = {
    "doc": "docx",
    "htm": "html",
    "jpg": "jpeg",
    "markdown": "md",
    "plain": "txt",
    "text": "txt",
    "tsv": "csv",
    "xls": "xlsx",
    "xlsm": "xlsx",
}
"""Old Office extensions are often used for new files; if not, parsing reports it."""

MEDIA_TYPES = {
    "application/json": "json",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/xhtml+xml": "html",
}
MAGIC_BYTES = (
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"RIFF", "webp"),
)


def find_kind(declared: str, name: str, data: bytes = b"") -> str:
    """One of `KINDS`, or an empty string if undecided without data. Raise `UnreadableFile` for an unknown kind."""
    declared = declared.partition(";")[0].strip().lower()
    kind = MEDIA_TYPES.get(declared) or declared.rpartition("/")[2].removeprefix("x-")
    if kind in ("", "octet-stream", "binary"):
        kind = name.rpartition(".")[2].lower() if "." in name else ""
        kind = kind if ALIASES.get(kind, kind) in KINDS else ""
    kind = ALIASES.get(kind, kind)
    if not kind and data:
        kind = detect_kind(data)
    if kind and kind not in KINDS:
        raise UnreadableFile(
            f"Files of type {kind[:20]!r} are not supported. Supported are: {', '.join(sorted(KINDS))}."
        )
    return kind


def detect_kind(data: bytes) -> str:
    head = data[:1024]
    for start, kind in MAGIC_BYTES:
        if head.startswith(start):
            return kind
    if head.startswith(b"PK"):
        return "docx" if b"word/" in data else "xlsx"
    return "html" if b"<html" in head.lower() or b"<!doctype html" in head.lower() else "txt"


def image_type(data: bytes) -> str | None:
    """The media type of an image, by its first bytes."""
    kind = next((kind for start, kind in MAGIC_BYTES if data.startswith(start)), None)
    if kind == "webp" and data[8:12] != b"WEBP":
        return None
    return f"image/{kind}" if kind in IMAGES else None
