"""`call_type: lib.<tool>`: runs Python code of a plugin in an isolated process."""

from rightseat.plugins.sandbox.process import SandboxLimits
from rightseat.plugins.sandbox.runner import LibTool, ToolRunner

__all__ = ["LibTool", "SandboxLimits", "ToolRunner"]
