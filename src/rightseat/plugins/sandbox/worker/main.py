"""The main program of the sandbox: isolates its own process, then runs one tool. Messages are lines of JSON.

Received: first {"lib", "folder", "limits", "disk", "parent"}, then one command: {"list": true} or
{"run": tool, "params", "scope"}. Sent: {"layers": …} after isolation; {"ask": "llm" | "read_file" | "write_file", …},
to which the server replies {"answer": …} or {"refused": …}; and last {"tools": […]}, {"result": …, "message": …} or
{"failed": …}.
"""

import _thread
import asyncio
import base64
import inspect
import json
import os
import select
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

from . import isolation

MAX_ERROR_CHARACTERS = 2000


class Channel:
    """Sends and receives messages on the original stdin and stdout; output that a tool prints is discarded."""

    def __init__(self) -> None:
        self._input: BinaryIO = os.fdopen(os.dup(0), "rb")
        self._output: BinaryIO = os.fdopen(os.dup(1), "wb")
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        self._lock: asyncio.Lock | None = None

    def end_with_server(self) -> None:
        """Exit when the server ends: a thread watches the pipe, in case the kernel sends no signal."""

        def watch() -> None:
            poll = select.poll()
            poll.register(self._input.fileno(), 0)
            poll.poll()
            os._exit(0)

        _thread.start_new_thread(watch, ())

    def receive(self) -> dict[str, Any]:
        line = self._input.readline()
        if not line:
            os._exit(0)  # the server has ended
        message: dict[str, Any] = json.loads(line)
        return message

    def send(self, message: dict[str, Any]) -> None:
        self._output.write(json.dumps(message, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n")
        self._output.flush()

    async def request(self, kind: str, **fields: Any) -> Any:
        """Return the server's reply; concurrent requests of the tool are queued."""
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            self.send({"ask": kind, **fields})
            reply = await asyncio.to_thread(self.receive)
        if "refused" in reply:
            raise RuntimeError(reply["refused"])
        return reply["answer"]


class ToolContext(SimpleNamespace):
    """The first argument of a tool: the fields of the scope, and methods that send requests to the server."""

    _channel: Channel

    async def llm(self, prompt: str) -> str:
        return str(await self._channel.request("llm", prompt=str(prompt)))

    async def read_file(self, name: str) -> bytes:
        return base64.b64decode(await self._channel.request("read_file", name=str(name)))

    async def write_file(self, name: str, content: bytes) -> None:
        await self._channel.request("write_file", name=str(name), data=base64.b64encode(content).decode())


def main() -> None:
    channel = Channel()
    setup = channel.receive()
    code = str(Path(setup["lib"]).parent)
    try:
        layers = isolation.isolate(code, setup["folder"], setup["limits"], setup["disk"], setup["parent"])
    except OSError as error:
        channel.send({"failed": str(error)})
        os._exit(1)
    channel.send({"layers": layers})
    command = channel.receive()
    channel.end_with_server()
    try:
        result = run_command(setup["lib"], command, channel)
    except MemoryError:
        result = {"failed": "It exceeds its memory limit."}
    except BaseException as error:
        trace = "".join(traceback.format_exception(error))[-MAX_ERROR_CHARACTERS:]
        result = {"failed": f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARACTERS], "trace": trace}
    channel.send(result)
    os._exit(0)  # also ends threads that a tool has left running


def run_command(lib: str, command: dict[str, Any], channel: Channel) -> dict[str, Any]:
    tools = load_tools(lib)
    if "list" in command:
        return {"tools": [describe(name, tool) for name, tool in tools.items()]}
    tool = tools.get(command["run"])
    if tool is None:
        return {"failed": f"There is no tool {command['run']!r} in lib. It has: {', '.join(tools) or 'none'}."}
    context = ToolContext(**command["scope"], _channel=channel)
    output = asyncio.run(call_tool(tool, context, command["params"]))
    if isinstance(output, dict) and "output" in output and not output.keys() - {"output", "message"}:
        return {"result": output["output"], "message": str(output.get("message") or "")}
    return {"result": output, "message": ""}


def load_tools(lib: str) -> dict[str, Any]:
    sys.path.insert(0, str(Path(lib).parent))
    sys.dont_write_bytecode = True
    module = __import__(Path(lib).name)
    exported = getattr(module, "exported", getattr(module, "_exported", []))
    return {str(getattr(tool, "name", "") or tool.__name__): tool for tool in exported}


def describe(name: str, tool: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": str(getattr(tool, "description", "") or inspect.getdoc(tool) or ""),
        "params": find_schema(tool),
        "original": is_original(tool),
    }


def find_schema(tool: Any) -> Any:
    schema = getattr(tool, "params_schema", None) or getattr(tool, "params", None) or {}
    return schema if isinstance(schema, dict) else {}


def is_original(tool: Any) -> bool:
    """The interface of 2024: constructed with the parameters, called with the rest of the scope."""
    return not hasattr(tool, "run") and hasattr(tool, "call")


async def call_tool(tool: Any, context: ToolContext, params: dict[str, Any]) -> Any:
    if not is_original(tool):
        return await await_result(tool().run(context, **params))
    fixed = {
        "background": context.summary,
        "question": context.question,
        "files": [file["name"] for file in context.files],
        "previous_data": context.data,
    }
    return await await_result(tool(params).call(fixed))


async def await_result(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
