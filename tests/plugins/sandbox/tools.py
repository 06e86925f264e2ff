"""Plugins with one tool, and their calls."""

import asyncio
from pathlib import Path
from textwrap import dedent

import pytest

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Identity, Plugin, Words
from rightseat.plugins.results import Result, StepFailed, Usage
from rightseat.plugins.sandbox import Limits, ToolRunner
from rightseat.plugins.scene import Scene
from rightseat.plugins.speaking import Said, Wanted


class Script:
    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.asked: list[Wanted] = []
        self.was_asked = asyncio.Event()

    async def say(self, wanted: Wanted) -> Said:
        self.asked.append(wanted)
        self.was_asked.set()
        return Said(self.replies.pop(0), Usage(3, 4))


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
    return Plugin(Identity("p", "1.0.0", "whole"), folder, Words("P", "A plugin."), lib=digest)


def write(folder: Path, code: str) -> Plugin:
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    (folder / "lib" / "__init__.py").write_text(dedent(code))
    return plugin(folder)


async def run(
    one: Plugin,
    params: dict[str, JsonValue] | None = None,
    scene: Scene | None = None,
    script: Script | None = None,
    limits: Limits | None = None,
    seconds: float = 20,
    tool: str = "t",
) -> Result:
    async with ToolRunner(["d1"], limits) as tool_runner:
        return await tool_runner.run(one, tool, params or {}, scene or Scene("?"), script or Script(), seconds=seconds)


async def failure(one: Plugin, *, limits: Limits | None = None, seconds: float = 20) -> StepFailed:
    with pytest.raises(StepFailed) as failed:
        await run(one, limits=limits, seconds=seconds)
    return failed.value
