"""Diagrams of flows, written as Mermaid."""

from rightseat.plugins.drawing.mermaid import mermaid
from rightseat.plugins.drawing.scheme import Scheme, scheme

__all__ = ["Scheme", "mermaid", "scheme"]
