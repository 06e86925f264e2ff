"""Limits for reading files."""

import msgspec


class DocumentLimits(msgspec.Struct, frozen=True):
    """Sizes are in bytes. Pages, rows and characters beyond a limit are dropped with a note; a file over a size or time
    limit is rejected."""

    size: int = 32 * 2**20
    unpacked: int = 256 * 2**20
    """Of ZIP-based files: docx and xlsx."""
    image: int = 10 * 2**20
    pages: int = 300
    characters: int = 2_000_000
    cells: int = 1_000_000
    seconds: float = 30.0
    part: int = 6_000
    """Characters of one part of a text without pages."""
