"""Reads orders as lines of JSON, isolates its own process, and runs one tool.

To it, first: {"lib", "folder", "limits", "disk", "parent"}. Then one order: {"list": true}, or
{"run": tool, "params", "scene"}. From it: {"layers": …} when the process is isolated;
{"ask": "llm" | "read_file" | "write_file", …}, answered by {"answer": …} or {"refused": …}; and last {"tools": […]},
{"result": …, "message": …} or {"failed": …}.
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

LONGEST_ERROR = 2000  # characters


class Channel:
    """One message at a time, each way. Whatever a tool prints is no message."""

    def __init__(self) -> None:
        self._orders: BinaryIO = os.fdopen(os.dup(0), "rb")
        self._answers: BinaryIO = os.fdopen(os.dup(1), "wb")
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        self._turn: asyncio.Lock | None = None

    def end_with_server(self) -> None:
        """Watches for the end of the server in a thread, for where the kernel may not tell this process of it."""

        def watch() -> None:
            closed = select.poll()
            closed.register(self._orders.fileno(), 0)
            closed.poll()
            os._exit(0)

        _thread.start_new_thread(watch, ())

    def receive(self) -> dict[str, Any]:
        line = self._orders.readline()
        if not line:
            os._exit(0)  # the server is gone
        order: dict[str, Any] = json.loads(line)
        return order

    def send(self, message: dict[str, Any]) -> None:
        self._answers.write(json.dumps(message, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n")
        self._answers.flush()

    async def ask(self, what: str, **more: Any) -> Any:
        """The server's answer; other tasks of the tool wait for their turn."""
        self._turn = self._turn or asyncio.Lock()
        async with self._turn:
            self.send({"ask": what, **more})
            said = await asyncio.to_thread(self.receive)
        if "refused" in said:
            raise RuntimeError(said["refused"])
        return said["answer"]


class Context(SimpleNamespace):
    """What a tool can see. The fields are those of the scene; the rest is asked of the server."""

    _channel: Channel

    async def llm(self, prompt: str) -> str:
        return str(await self._channel.ask("llm", prompt=str(prompt)))

    async def read_file(self, name: str) -> bytes:
        return base64.b64decode(await self._channel.ask("read_file", name=str(name)))

    async def write_file(self, name: str, content: bytes) -> None:
        await self._channel.ask("write_file", name=str(name), data=base64.b64encode(content).decode())


def main() -> None:
    channel = Channel()
    start = channel.receive()
    code = str(Path(start["lib"]).parent)
    try:
        layers = isolation.isolate(code, start["folder"], start["limits"], start["disk"], start["parent"])
    except OSError as error:
        channel.send({"failed": str(error)})
        os._exit(1)
    channel.send({"layers": layers})
    order = channel.receive()
    channel.end_with_server()
    try:
        answer = work(start["lib"], order, channel)
    except MemoryError:
        answer = {"failed": "It needs more memory than it may use."}
    except BaseException as error:
        trace = "".join(traceback.format_exception(error))[-LONGEST_ERROR:]
        answer = {"failed": f"{type(error).__name__}: {error}"[:LONGEST_ERROR], "trace": trace}
    channel.send(answer)
    os._exit(0)  # whatever threads a tool has left behind


def work(lib: str, order: dict[str, Any], channel: Channel) -> dict[str, Any]:
    found = tools(lib)
    if "list" in order:
        return {"tools": [describe(name, tool) for name, tool in found.items()]}
    tool = found.get(order["run"])
    if tool is None:
        return {"failed": f"There is no tool {order['run']!r} in lib. It has: {', '.join(found) or 'none'}."}
    context = Context(**order["scene"], _channel=channel)
    given = asyncio.run(call(tool, context, order["params"]))
    if isinstance(given, dict) and "output" in given and not given.keys() - {"output", "message"}:
        return {"result": given["output"], "message": str(given.get("message") or "")}
    return {"result": given, "message": ""}


def tools(lib: str) -> dict[str, Any]:
    sys.path.insert(0, str(Path(lib).parent))
    sys.dont_write_bytecode = True
    module = __import__(Path(lib).name)
    listed = getattr(module, "exported", getattr(module, "_exported", []))
    return {str(getattr(tool, "name", "") or tool.__name__): tool for tool in listed}


def describe(name: str, tool: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": str(getattr(tool, "description", "") or inspect.getdoc(tool) or ""),
        "params": schema(tool),
        "original": is_original(tool),
    }


def schema(tool: Any) -> Any:
    found = getattr(tool, "params_schema", None) or getattr(tool, "params", None) or {}
    return found if isinstance(found, dict) else {}


def is_original(tool: Any) -> bool:
    """The shape of 2024: made with its parameters, and called with what else there is."""
    return not hasattr(tool, "run") and hasattr(tool, "call")


async def call(tool: Any, context: Context, params: dict[str, Any]) -> Any:
    if not is_original(tool):
        return await finished(tool().run(context, **params))
    fixed = {
        "background": context.summary,
        "question": context.question,
        "files": [file["name"] for file in context.files],
        "previous_data": context.data,
    }
    return await finished(tool(params).call(fixed))


async def finished(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
