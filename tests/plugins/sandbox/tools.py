"""Plugins with one tool, and their calls."""

import asyncio
from pathlib import Path
from textwrap import dedent

import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Identity, Plugin, PluginTexts
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.results import StepFailed, StepResult, StepUsage
from rightseat.plugins.sandbox import SandboxLimits, ToolRunner
from rightseat.plugins.scope import Scope


class Script:
    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[ModelRequest] = []
        self.was_asked = asyncio.Event()

    async def call(self, wanted: ModelRequest) -> ModelResponse:
        self.asked.append(wanted)
        self.was_asked.set()
        return ModelResponse(self.replies.pop(0), StepUsage(3, 4))


def make(folder: Path, body: str, head: str = "", digest: str = "d1") -> Plugin:
    """A plugin with one tool `t` whose `run` has that body."""
    lib = folder / "lib"
    lib.mkdir(parents=True, exist_ok=True)
    indented = dedent(body).strip().replace("\n", "\n        ")
    code = f"{dedent(head)}\n\nclass T:\n    name = 't'\n    description = 'A tool.'\n    params = {{}}\n\n"
    code += f"    async def run(self, ctx, **params):\n        {indented}\n"
    (lib / "tool.py").write_text(code)
    (lib / "__init__.py").write_text("from .tool import T\nexported = [T]\n")
    return plugin(folder, digest)


def plugin(folder: Path, digest: str = "d1") -> Plugin:
    return Plugin(Identity("p", "1.0.0", "whole"), folder, PluginTexts("P", "A plugin."), lib=digest)


def write(folder: Path, code: str) -> Plugin:
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    (folder / "lib" / "__init__.py").write_text(dedent(code))
    return plugin(folder)


async def run(
    one: Plugin,
    params: dict[str, JsonValue] | None = None,
    scope: Scope | None = None,
    script: Script | None = None,
    limits: SandboxLimits | None = None,
    seconds: float = 20,
    tool: str = "t",
) -> StepResult:
    async with ToolRunner(["d1"], limits) as tool_runner:
        return await tool_runner.run(one, tool, params or {}, scope or Scope("?"), script or Script(), seconds=seconds)


async def failure(one: Plugin, *, limits: SandboxLimits | None = None, seconds: float = 20) -> StepFailed:
    with pytest.raises(StepFailed) as failed:
        await run(one, limits=limits, seconds=seconds)
    return failed.value
