"""The built-in agent loop: it calls a model, runs the tools that the model calls, and repeats."""

from rightseat.core.loop.agent_loop import Loop

__all__ = ["Loop"]
