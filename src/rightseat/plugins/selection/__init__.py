"""Chooses the flow that answers a question, and suggests flows for the next one."""

from rightseat.plugins.selection.search import FlowSearch
from rightseat.plugins.selection.selector import FlowChoice, choose_flow, list_candidates
from rightseat.plugins.selection.suggestions import suggest_flows

__all__ = ["FlowChoice", "FlowSearch", "choose_flow", "list_candidates", "suggest_flows"]
