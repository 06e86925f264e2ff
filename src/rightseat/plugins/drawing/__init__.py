"""Pictures of flows: as Mermaid, for pages that draw it, and as SVG with a layout of our own."""

from rightseat.plugins.drawing.mermaid import mermaid
from rightseat.plugins.drawing.scheme import Scheme, scheme
from rightseat.plugins.drawing.svg import svg

__all__ = ["Scheme", "mermaid", "scheme", "svg"]
