"""Parses files into text to quote, rows to query, or an image to show.

    document = await documents.read(content, "pdf", "letter.pdf")

A file may be hostile, so it is parsed in a child process (see `data.child`) with limits of size, time and memory. A
short plain text is read in this process, because it needs no parser.
"""

import asyncio
import base64

from rightseat.core.errors import UnreadableFile
from rightseat.core.messages import Image
from rightseat.data.child import Child, ChildFailed
from rightseat.data.documents.charset import decode
from rightseat.data.documents.kinds import IMAGES, TEXTS, find_kind, image_type
from rightseat.data.documents.limits import DocumentLimits
from rightseat.data.documents.parsing import ParseRequest, parse
from rightseat.data.values import DocumentPage, ParsedDocument, Sheet, Word

__all__ = ["DocumentLimits", "DocumentPage", "DocumentReader", "ParsedDocument", "Sheet", "Word", "read"]

MEMORY_BYTES = 1024 * 2**20  # of address space
MAX_CONCURRENT = 2
MAX_INLINE_BYTES = 64 * 1024  # of text, read without a child process


class DocumentReader:
    """Reads files, few at once: each takes a processor core."""

    def __init__(self, limits: DocumentLimits = DocumentLimits()) -> None:  # noqa: B008  # frozen
        self.limits = limits
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def read(self, content: bytes | str, kind: str, name: str = "") -> ParsedDocument:
        """`kind` is a file's extension or media type, or empty; `content` may be base64. Raises `UnreadableFile`."""
        if len(content) > self.limits.size * 4 // 3 + 4096:
            raise UnreadableFile(f"{name or 'The file'} is larger than {self.limits.size // 2**20} MB.")
        kind = find_kind(kind, name)
        data = decode(content, kind) if isinstance(content, str) else content
        if len(data) > self.limits.size:
            raise UnreadableFile(f"{name or 'The file'} is larger than {self.limits.size // 2**20} MB.")
        kind = kind or find_kind("", "", data)
        if kind in IMAGES:
            return wrap_image(data, kind, name, self.limits)
        request = ParseRequest(kind, name, self.limits)
        if kind in TEXTS and kind != "html" and len(data) <= MAX_INLINE_BYTES:
            return parse(request, data)
        async with self._slots:
            return await self._read_in_child(request, data)

    async def _read_in_child(self, request: ParseRequest, data: bytes) -> ParsedDocument:
        child = Child("rightseat.data.documents.parsing", MEMORY_BYTES)
        try:
            return await child.ask(request, ParsedDocument, self.limits.seconds, data)
        except ChildFailed as error:
            raise UnreadableFile(f"{request.name or 'The file'} cannot be read: it {error}.") from None
        finally:
            await child.aclose()


async def read(content: bytes | str, kind: str, name: str = "", limits: DocumentLimits | None = None) -> ParsedDocument:
    return await DocumentReader(limits or DocumentLimits()).read(content, kind, name)


def wrap_image(data: bytes, kind: str, name: str, limits: DocumentLimits) -> ParsedDocument:
    """Images are not decoded here, only by the model provider; their first bytes are checked."""
    media_type = image_type(data)
    if media_type is None:
        raise UnreadableFile(f"{name or 'The picture'} is not an image that models accept: PNG, JPEG, GIF or WebP.")
    if len(data) > limits.image:
        raise UnreadableFile(
            f"{name or 'The picture'} has {len(data):,} bytes; up to {limits.image:,} are shown to a model."
        )
    return ParsedDocument(name, kind, image=Image(media_type, base64.b64encode(data).decode(), name=name))
