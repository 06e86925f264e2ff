"""How much of a file is read."""

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Sizes are in bytes. What is over a limit of pages, rows or characters is left out, and the document says so;
    a file over a limit of size or time is refused."""

    size: int = 32 * 2**20
    unpacked: int = 256 * 2**20
    """Of a file that is an archive inside: docx and xlsx."""
    image: int = 10 * 2**20
    pages: int = 300
    characters: int = 2_000_000
    cells: int = 1_000_000
    seconds: float = 30.0
    part: int = 6_000
    """Characters of one part of a text that has no pages."""
