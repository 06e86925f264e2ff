"""Renders a chart as PNG."""

import asyncio
from collections.abc import Mapping
from typing import Any

from rightseat.core.errors import NotConfigured
from rightseat.installation import missing_extra
from rightseat.plugins.charts.svg import render_svg

ZOOM = 2  # for high-density screens


async def render_png(option: Mapping[str, Any]) -> bytes:
    """Raises `NotConfigured` if the package resvg_py is not installed, and `ValueError` like `render_svg`."""
    try:
        import resvg_py
    except ImportError:
        raise NotConfigured(f"A chart as PNG: {missing_extra('png')}. SVG needs none.") from None
    drawn = render_svg(option)
    return bytes(await asyncio.to_thread(lambda: resvg_py.svg_to_bytes(svg_string=drawn, zoom=ZOOM)))
