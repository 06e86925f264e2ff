"""`call_type: render`: charts as options of ECharts, and as pictures where somebody asks for one."""

from rightseat.plugins.charts.png import png
from rightseat.plugins.charts.rendering import render
from rightseat.plugins.charts.svg import svg

__all__ = ["png", "render", "svg"]
