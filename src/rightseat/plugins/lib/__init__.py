"""`call_type: lib.<tool>`: Python code of a plugin, in a process of its own that has and reaches nothing."""

from rightseat.plugins.lib.process import Limits
from rightseat.plugins.lib.workshop import Consent, LibTool, Workshop

__all__ = ["Consent", "LibTool", "Limits", "Workshop"]
