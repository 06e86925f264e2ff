"""Flows: the procedures of a plugin, run step by step."""

from rightseat.plugins.flows.means import Means
from rightseat.plugins.flows.progress import Progress, read
from rightseat.plugins.flows.running import Suggest, run

__all__ = ["Means", "Progress", "Suggest", "read", "run"]
