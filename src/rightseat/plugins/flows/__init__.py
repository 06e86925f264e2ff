"""Flows: the procedures of a plugin, run step by step."""

from rightseat.plugins.flows.checkpoint import FlowCheckpoint, read_checkpoint
from rightseat.plugins.flows.dependencies import Dependencies
from rightseat.plugins.flows.runner import Suggest, run

__all__ = ["Dependencies", "FlowCheckpoint", "Suggest", "read_checkpoint", "run"]
