"""`call_type: render`: charts as ECharts options, and as SVG or PNG on request."""

from rightseat.plugins.charts.png import render_png
from rightseat.plugins.charts.render import render
from rightseat.plugins.charts.svg import render_svg

__all__ = ["render", "render_png", "render_svg"]
