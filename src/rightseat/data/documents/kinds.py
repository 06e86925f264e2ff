"""What sort of file it is: by what the client says, else by its name, else by its first bytes."""

from rightseat.core.errors import Unreadable

TEXTS = frozenset({"csv", "html", "json", "md", "txt"})
IMAGES = frozenset({"gif", "jpeg", "png", "webp"})
KINDS = TEXTS | IMAGES | {"docx", "pdf", "xlsx"}

SAME = {
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
"""An old Office file is often a new one with the old name; where it is not, reading it says so."""

MEDIA_TYPES = {
    "application/json": "json",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/xhtml+xml": "html",
}
STARTS = (
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"RIFF", "webp"),
)


def find_kind(said: str, name: str, data: bytes = b"") -> str:
    """One of `KINDS`; empty where nothing tells and there are no bytes yet. Raises `Unreadable` for a kind unknown."""
    said = said.partition(";")[0].strip().lower()
    kind = MEDIA_TYPES.get(said) or said.rpartition("/")[2].removeprefix("x-")
    if kind in ("", "octet-stream", "binary"):
        kind = name.rpartition(".")[2].lower() if "." in name else ""
        kind = kind if SAME.get(kind, kind) in KINDS else ""
    kind = SAME.get(kind, kind)
    if not kind and data:
        kind = by_bytes(data)
    if kind and kind not in KINDS:
        raise Unreadable(f"Files of the kind {kind[:20]!r} are not read. These are: {', '.join(sorted(KINDS))}.")
    return kind


def by_bytes(data: bytes) -> str:
    head = data[:1024]
    for start, kind in STARTS:
        if head.startswith(start):
            return kind
    if head.startswith(b"PK"):
        return "docx" if b"word/" in data else "xlsx"
    return "html" if b"<html" in head.lower() or b"<!doctype html" in head.lower() else "txt"


def image_type(data: bytes) -> str | None:
    """The media type of a picture, by its first bytes."""
    kind = next((kind for start, kind in STARTS if data.startswith(start)), None)
    if kind == "webp" and data[8:12] != b"WEBP":
        return None
    return f"image/{kind}" if kind in IMAGES else None
