"""Runs the Python tools of plugins in sandboxed processes, if the operator has allowed the digest of their code."""

import base64
import re
import time
from collections.abc import Collection, Mapping
from pathlib import PurePath
from typing import Self

import jsonschema_rs
import msgspec

from rightseat.core.types import JsonValue
from rightseat.json_schema import MAX_FAULTS, SchemaValidator
from rightseat.plugins.definition import Plugin
from rightseat.plugins.expressions import prompts
from rightseat.plugins.model_calls import ModelCaller, ModelRequest
from rightseat.plugins.results import Artifact, StepFailed, StepResult, StepUsage
from rightseat.plugins.sandbox import process
from rightseat.plugins.sandbox.process import SandboxLimits, WorkerMessage
from rightseat.plugins.scope import Scope

TIMEOUT_S = 60.0
LIST_TIMEOUT_S = 20.0
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
MAX_FILES = 20  # written by one call
MAX_PROMPT_CHARACTERS = 200_000


class LibTool(msgspec.Struct, frozen=True):
    """The description that the process returns. `original`: the interface of the guide of 2024 (W701)."""

    name: str
    description: str = ""
    params: dict[str, JsonValue] = {}
    original: bool = False


class ToolRunner:
    """`allowed` are digests of `lib/`: changed code has another digest and must be allowed again."""

    def __init__(self, allowed: Collection[str] = (), limits: SandboxLimits | None = None) -> None:
        self._allowed = frozenset(allowed)
        self._limits = limits or SandboxLimits()
        self._tools: dict[str, Mapping[str, LibTool]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._tools.clear()

    def allows(self, plugin: Plugin) -> bool:
        return plugin.lib is not None and plugin.lib in self._allowed

    async def tools(self, plugin: Plugin) -> Mapping[str, LibTool]:
        """By name, from the code itself in its process, once per digest."""
        digest = self._check_digest(plugin)
        if digest not in self._tools:
            command = {"list": True}
            response = await process.call(
                plugin.folder / "lib", command, refuse, limits=self._limits, seconds=LIST_TIMEOUT_S
            )
            self._tools[digest] = read_tools(response)
        return self._tools[digest]

    async def run(
        self,
        plugin: Plugin,
        tool: str,
        params: Mapping[str, JsonValue],
        scope: Scope,
        model: ModelCaller,
        *,
        seconds: float | None = None,
        name: str = "",
    ) -> StepResult:
        """`name` is the step that runs it. Raises `StepFailed`: `tool_failed`, `timeout`, `slot_missing`."""
        tools = await self.tools(plugin)
        if tool not in tools:
            listed = ", ".join(tools) or "none"
            raise StepFailed("tool_failed", f"The plugin {plugin.id} has no tool {tool!r} in lib. It has: {listed}.")
        requests = ToolRequests(scope, model, name or tool)
        filled = fill_defaults(tools[tool], params)
        command: WorkerMessage = {"run": tool, "params": filled, "scope": export_scope(scope)}
        started = time.monotonic()
        response = await process.call(
            plugin.folder / "lib", command, requests.handle, limits=self._limits, seconds=seconds or TIMEOUT_S
        )
        milliseconds = round((time.monotonic() - started) * 1000)
        return StepResult(
            output=response.get("result"),
            message=str(response.get("message", "")),
            artifacts=tuple(requests.written.values()),
            usage=StepUsage(requests.usage.input_tokens, requests.usage.output_tokens, milliseconds),
            record={
                "tool": tool,
                "params": filled,
                **({"warnings": ["W701"]} if tools[tool].original else {}),
            },
        )

    def _check_digest(self, plugin: Plugin) -> str:
        if plugin.lib is None:
            raise StepFailed("tool_failed", f"The plugin {plugin.id} has no lib.")
        if plugin.lib not in self._allowed:
            message = f"The code in lib of the plugin {plugin.id} is not allowed. The operator can allow {plugin.lib}."
            raise StepFailed("tool_failed", message)
        return plugin.lib


def read_tools(response: WorkerMessage) -> dict[str, LibTool]:
    try:
        tools = msgspec.convert(response.get("tools"), list[LibTool])
    except msgspec.ValidationError as error:
        raise StepFailed("tool_failed", f"The tools in lib have invalid descriptions: {error}") from None
    for tool in tools:
        if not NAME.fullmatch(tool.name):
            raise StepFailed("tool_failed", f"The tool name {tool.name!r} in lib must match {NAME.pattern}.")
    return {tool.name: tool for tool in tools}


def fill_defaults(tool: LibTool, params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Add the defaults of the schema. Required parameters were filled before (R-9.4)."""
    properties = tool.params.get("properties")
    described = properties if isinstance(properties, dict) else {}
    defaults = {name: one["default"] for name, one in described.items() if isinstance(one, dict) and "default" in one}
    filled = {**defaults, **params}
    if tool.params:
        try:
            problems = SchemaValidator(tool.params).find_faults(filled, MAX_FAULTS)
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise StepFailed("tool_failed", f"The parameters of {tool.name} are not a JSON Schema: {error}") from None
        if problems:
            raise StepFailed("slot_missing", f"The tool {tool.name} cannot be called: {'; '.join(problems)}")
    return filled


def export_scope(scope: Scope) -> WorkerMessage:
    """The part of the scope that a tool receives: no file contents, and only the id of the user."""
    return {
        "question": scope.question,
        "data": scope.data,
        "steps": {name: {"output": one.output, "message": one.message} for name, one in scope.steps.items()},
        "files": [{"name": file.name, "media_type": file.media_type} for file in scope.files],
        "summary": scope.summary,
        "history": [list(message) for message in scope.history],
        "time": prompts.format_time(scope),
        "language": scope.language,
        "user": scope.user.id,
    }


class ToolRequests:
    """Handles the requests of a running tool: model calls, reading files of the conversation, writing files."""

    def __init__(self, scope: Scope, model: ModelCaller, name: str) -> None:
        self._scope = scope
        self._model = model
        self._name = name
        self.usage = StepUsage()
        self.written: dict[str, Artifact] = {}

    async def handle(self, request: WorkerMessage) -> WorkerMessage:
        match request:
            case {"ask": "llm", "prompt": str(prompt)} if len(prompt) <= MAX_PROMPT_CHARACTERS:
                response = await self._model.call(ModelRequest(self._name, "", prompt))
                tokens = self.usage.input_tokens + response.usage.input_tokens
                self.usage = StepUsage(tokens, self.usage.output_tokens + response.usage.output_tokens)
                return {"answer": response.text}
            case {"ask": "read_file", "name": str(name)}:
                content = next((file.data for file in self._scope.files if name in (file.name, file.id)), None)
                names = ", ".join(file.name for file in self._scope.files) or "none"
                return {"answer": content} if content is not None else {"refused": f"No file {name!r}; files: {names}."}
            case {"ask": "write_file", "name": str(name), "data": str(data)}:
                return self._write(name, data)
            case _:
                return {"refused": f"Unknown or malformed request {request.get('ask')!r}."}

    def _write(self, name: str, data: str) -> WorkerMessage:
        if name in ("", ".", "..") or PurePath(name).name != name or not name.isprintable() or len(name) > 200:
            return {"refused": f"{name[:200]!r} is not a valid file name."}
        if len(self.written) >= MAX_FILES and name not in self.written:
            return {"refused": f"A tool may write at most {MAX_FILES} files."}
        try:
            size = len(base64.b64decode(data, validate=True))
        except ValueError:
            return {"refused": "The content is not base64."}
        self.written[name] = Artifact("file", name, "application/octet-stream", size=size, data=data)
        return {"answer": None}


async def refuse(request: WorkerMessage) -> WorkerMessage:
    return {"refused": "Requests are not possible while tools are listed."}
