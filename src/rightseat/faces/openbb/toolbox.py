"""The toolbox of the face: all agents get it, and it holds tools only for asks that came through this face."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from rightseat.core.ask import Ask
from rightseat.core.tools import Tool
from rightseat.faces.openbb.functions import Function
from rightseat.faces.openbb.session import Session

SERVER_TOOLS = ("reading_tools", "artifacts", "suggesting")
"""Modules with `tools(session)`: what the server itself runs. Imported when the first request comes."""

WORKSPACE_FUNCTIONS = ("dashboards", "skills", "tasks")
"""Modules with `functions(session)`: what Workspace runs, beside reading widgets and calling MCP tools."""


class Sessions:
    """The open sessions, by the id of their run."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        session = self._sessions.get(ask.run_id)
        if session is None:
            return ()
        found = [replace(tool, approval="exempt") for make in tool_makers() for tool in make(session)]
        session.own_tools = tuple([tool.name for tool in found])
        return [*found, *map(checked, session.catalogue.functions.values())]

    def put(self, run_id: str, session: Session) -> None:
        self._sessions[run_id] = session

    async def clear(self, run_id: str) -> None:
        if session := self._sessions.pop(run_id, None):
            await session.aclose()


def checked(function: Function) -> Tool:
    """A call that Workspace could not use goes back to the model."""
    return replace(Tool.offered(function.offer), check=function.write)


def workspace_functions(session: Session) -> list[Function]:
    if session.legacy:
        return []
    return [function for make in function_makers() for function in make(session)]


@cache
def tool_makers() -> list[Callable[[Session], Sequence[Tool]]]:
    return [_load(name).tools for name in SERVER_TOOLS]


@cache
def function_makers() -> list[Callable[[Session], Sequence[Function]]]:
    return [_load(name).functions for name in WORKSPACE_FUNCTIONS]


def _load(name: str) -> Any:
    return import_module(f"rightseat.faces.openbb.{name}")
