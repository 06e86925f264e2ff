"""Tools that plugins bring as Python code: off until the operator allows that very code, and never in this process."""

import base64
import re
import time
from collections.abc import Collection, Mapping
from pathlib import PurePath
from types import TracebackType
from typing import Self

import jsonschema_rs
import msgspec

from rightseat.core.json_schema import PATTERNS
from rightseat.core.values import JsonValue
from rightseat.plugins import prompting
from rightseat.plugins.definition import Plugin
from rightseat.plugins.results import Artifact, Result, StepFailed, Usage
from rightseat.plugins.sandbox import process
from rightseat.plugins.sandbox.process import Limits, Message
from rightseat.plugins.scene import Scene
from rightseat.plugins.speaking import Speaker, Wanted

TIMEOUT = 60.0  # seconds
LIST_TIMEOUT = 20.0  # seconds
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
FILES = 20  # files that one call may write
LONGEST_PROMPT = 200_000  # characters


class LibTool(msgspec.Struct, frozen=True):
    """A tool as its process describes it. `original` is the shape of the guide of 2024 (W701)."""

    name: str
    description: str = ""
    params: dict[str, JsonValue] = {}
    original: bool = False


class ToolRunner:
    """`allowed` has digests of `lib/`: code that has changed has another digest, and is not allowed yet."""

    def __init__(self, allowed: Collection[str] = (), limits: Limits | None = None) -> None:
        self._allowed = frozenset(allowed)
        self._limits = limits or Limits()
        self._known: dict[str, Mapping[str, LibTool]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._known.clear()

    def allows(self, plugin: Plugin) -> bool:
        return plugin.lib is not None and plugin.lib in self._allowed

    async def tools(self, plugin: Plugin) -> Mapping[str, LibTool]:
        """By name; asked of the code itself, in its process, once for each digest."""
        digest = self._allowed_digest(plugin)
        if digest not in self._known:
            order = {"list": True}
            said = await process.call(plugin.folder / "lib", order, refuse, limits=self._limits, seconds=LIST_TIMEOUT)
            self._known[digest] = read_tools(said)
        return self._known[digest]

    async def run(
        self,
        plugin: Plugin,
        tool: str,
        params: Mapping[str, JsonValue],
        scene: Scene,
        speaker: Speaker,
        *,
        seconds: float | None = None,
        name: str = "",
    ) -> Result:
        """`name` is the step that runs it. Raises `StepFailed`: `tool_failed`, `timeout`, `slot_missing`."""
        known = await self.tools(plugin)
        if tool not in known:
            listed = ", ".join(known) or "none"
            raise StepFailed("tool_failed", f"The plugin {plugin.id} has no tool {tool!r} in lib. It has: {listed}.")
        requests = ToolRequests(scene, speaker, name or tool)
        filled = complete(known[tool], params)
        order: Message = {"run": tool, "params": filled, "scene": shown(scene)}
        started = time.monotonic()
        said = await process.call(
            plugin.folder / "lib", order, requests.answer, limits=self._limits, seconds=seconds or TIMEOUT
        )
        milliseconds = round((time.monotonic() - started) * 1000)
        return Result(
            output=said.get("result"),
            message=str(said.get("message", "")),
            artifacts=tuple(requests.written.values()),
            usage=Usage(requests.usage.input_tokens, requests.usage.output_tokens, milliseconds),
            record={
                "tool": tool,
                "params": filled,
                **({"warnings": ["W701"]} if known[tool].original else {}),
            },
        )

    def _allowed_digest(self, plugin: Plugin) -> str:
        if plugin.lib is None:
            raise StepFailed("tool_failed", f"The plugin {plugin.id} has no lib.")
        if plugin.lib not in self._allowed:
            message = f"The code in lib of the plugin {plugin.id} is not allowed. The operator can allow {plugin.lib}."
            raise StepFailed("tool_failed", message)
        return plugin.lib


def read_tools(said: Message) -> dict[str, LibTool]:
    try:
        tools = msgspec.convert(said.get("tools"), list[LibTool])
    except msgspec.ValidationError as error:
        raise StepFailed("tool_failed", f"The tools in lib are not described as they should be: {error}") from None
    for tool in tools:
        if not NAME.fullmatch(tool.name):
            raise StepFailed("tool_failed", f"A tool in lib is called {tool.name!r}; it must match {NAME.pattern}.")
    return {tool.name: tool for tool in tools}


def complete(tool: LibTool, params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """With the defaults of its schema. What is still missing was to be filled before (R-9.4)."""
    properties = tool.params.get("properties")
    described = properties if isinstance(properties, dict) else {}
    defaults = {name: one["default"] for name, one in described.items() if isinstance(one, dict) and "default" in one}
    filled = {**defaults, **params}
    if tool.params:
        try:
            validator = jsonschema_rs.validator_for(tool.params, pattern_options=PATTERNS, offline=True)
            problems = [error.message for error in validator.iter_errors(filled)]
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise StepFailed("tool_failed", f"The parameters of {tool.name} are no JSON Schema: {error}") from None
        if problems:
            raise StepFailed("slot_missing", f"The tool {tool.name} cannot be called: {'; '.join(problems)}")
    return filled


def shown(scene: Scene) -> Message:
    """What a tool sees of a scene: no contents of files, and nothing of the user but who it is."""
    return {
        "question": scene.question,
        "data": scene.data,
        "steps": {name: {"output": one.output, "message": one.message} for name, one in scene.steps.items()},
        "files": [{"name": file.name, "media_type": file.media_type} for file in scene.files],
        "summary": scene.summary,
        "history": [list(turn) for turn in scene.history],
        "time": prompting.told_time(scene),
        "language": scene.language,
        "user": scene.user.id,
    }


class ToolRequests:
    """Answers what a tool asks while it runs: a model, the conversation's own files, a place for new ones."""

    def __init__(self, scene: Scene, speaker: Speaker, name: str) -> None:
        self._scene = scene
        self._speaker = speaker
        self._name = name
        self.usage = Usage()
        self.written: dict[str, Artifact] = {}

    async def answer(self, asked: Message) -> Message:
        match asked:
            case {"ask": "llm", "prompt": str(prompt)} if len(prompt) <= LONGEST_PROMPT:
                said = await self._speaker.say(Wanted(self._name, "", prompt))
                tokens = self.usage.input_tokens + said.usage.input_tokens
                self.usage = Usage(tokens, self.usage.output_tokens + said.usage.output_tokens)
                return {"answer": said.text}
            case {"ask": "read_file", "name": str(name)}:
                found = next((file.data for file in self._scene.files if name in (file.name, file.id)), None)
                known = ", ".join(file.name for file in self._scene.files) or "none"
                return {"answer": found} if found is not None else {"refused": f"No file {name!r}; there are: {known}."}
            case {"ask": "write_file", "name": str(name), "data": str(data)}:
                return self._write(name, data)
            case _:
                return {"refused": f"It cannot be asked for {asked.get('ask')!r} like that."}

    def _write(self, name: str, data: str) -> Message:
        if name in ("", ".", "..") or PurePath(name).name != name or not name.isprintable() or len(name) > 200:
            return {"refused": f"{name[:200]!r} cannot be the name of a file."}
        if len(self.written) >= FILES and name not in self.written:
            return {"refused": f"A tool may write {FILES} files at most."}
        try:
            size = len(base64.b64decode(data, validate=True))
        except ValueError:
            return {"refused": "The content is no base64."}
        self.written[name] = Artifact("file", name, "application/octet-stream", size=size, data=data)
        return {"answer": None}


async def refuse(asked: Message) -> Message:
    """While tools are listed there is nothing to ask."""
    return {"refused": "Nothing can be asked while tools are listed."}
