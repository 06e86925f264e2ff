"""A chart as PNG."""

import asyncio
from collections.abc import Mapping
from typing import Any

from rightseat.core.errors import Misuse
from rightseat.plugins.charts.svg import svg

ZOOM = 2  # for screens that show two points where one was


async def png(option: Mapping[str, Any]) -> bytes:
    """Raises `Misuse` where the package is not installed that paints it, and `ValueError` as `svg` does."""
    try:
        import resvg_py
    except ImportError:
        raise Misuse("A chart as PNG needs a package: pip install 'rightseat[png]'. SVG needs none.") from None
    drawn = svg(option)
    return bytes(await asyncio.to_thread(lambda: resvg_py.svg_to_bytes(svg_string=drawn, zoom=ZOOM)))
