"""`call_type: lib.<tool>`: Python code of a plugin, in an isolated process of its own."""

from rightseat.plugins.sandbox.process import Limits
from rightseat.plugins.sandbox.runner import LibTool, ToolRunner

__all__ = ["LibTool", "Limits", "ToolRunner"]
