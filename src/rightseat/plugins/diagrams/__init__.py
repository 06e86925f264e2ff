"""Flows as graphs, and as Mermaid diagrams."""

from rightseat.plugins.diagrams.flow_graph import build_graph, summarize_flow
from rightseat.plugins.diagrams.mermaid import render_mermaid

__all__ = ["build_graph", "render_mermaid", "summarize_flow"]
