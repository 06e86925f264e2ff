"""Files that somebody sent, as text that can be quoted, rows that can be asked, or a picture that can be shown.

    document = await documents.read(content, "pdf", "letter.pdf")

A file may be hostile. So it is read in a process of its own (see `data.child`), within limits of size, time and memory.
A short file of plain text is read right here: no parser is in it that could be led astray.
"""

import asyncio
import base64

from rightseat.core.errors import Unreadable
from rightseat.core.messages import Image
from rightseat.data.child import Child, Lost
from rightseat.data.documents.encoding import decode
from rightseat.data.documents.kinds import IMAGES, TEXTS, find_kind, image_type
from rightseat.data.documents.limits import Limits
from rightseat.data.documents.parsing import Read, parse
from rightseat.data.values import Document, Page, Sheet, Word

__all__ = ["Document", "Limits", "Page", "Reader", "Sheet", "Word", "read"]

MEMORY = 1024 * 2**20  # bytes of address space
SHORT = 64 * 1024  # bytes of text that are read without a process


class Reader:
    """Reads files, few of them at once: each takes a processor while it is read."""

    def __init__(self, limits: Limits = Limits(), at_once: int = 2) -> None:  # noqa: B008  # frozen
        self.limits = limits
        self._places = asyncio.Semaphore(at_once)

    async def read(self, content: bytes | str, kind: str, name: str = "") -> Document:
        """`kind` is a file's extension or media type, or empty; `content` may be base64. Raises `Unreadable`."""
        if len(content) > self.limits.size * 4 // 3 + 4096:
            raise Unreadable(f"{name or 'The file'} is larger than {self.limits.size // 2**20} MB.")
        kind = find_kind(kind, name)
        data = decode(content, kind) if isinstance(content, str) else content
        if len(data) > self.limits.size:
            raise Unreadable(f"{name or 'The file'} is larger than {self.limits.size // 2**20} MB.")
        kind = kind or find_kind("", "", data)
        if kind in IMAGES:
            return show(data, kind, name, self.limits)
        wanted = Read(kind, name, self.limits)
        if kind in TEXTS and kind != "html" and len(data) <= SHORT:
            return parse(wanted, data)
        async with self._places:
            return await self._apart(wanted, data)

    async def _apart(self, wanted: Read, data: bytes) -> Document:
        child = Child("rightseat.data.documents.parsing", MEMORY)
        try:
            return await child.ask(wanted, Document, self.limits.seconds, data)
        except Lost as error:
            raise Unreadable(f"{wanted.name or 'The file'} cannot be read: it {error}.") from None
        finally:
            await child.aclose()


async def read(content: bytes | str, kind: str, name: str = "", limits: Limits = Limits()) -> Document:  # noqa: B008
    return await Reader(limits).read(content, kind, name)


def show(data: bytes, kind: str, name: str, limits: Limits) -> Document:
    """A picture is not opened: the model's server does that. Its first bytes must be those of a picture, though."""
    media_type = image_type(data)
    if media_type is None:
        raise Unreadable(f"{name or 'The picture'} is no picture that a model can see: PNG, JPEG, GIF or WebP.")
    if len(data) > limits.image:
        raise Unreadable(
            f"{name or 'The picture'} has {len(data):,} bytes; up to {limits.image:,} are shown to a model."
        )
    return Document(name, kind, image=Image(media_type, base64.b64encode(data).decode(), name=name))
