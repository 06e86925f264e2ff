"""The toolbox of the OpenBB face: it offers tools only for asks that arrived through this face."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from rightseat.core.ask import Ask
from rightseat.core.tools import Tool
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools.functions import WorkspaceFunction

SERVER_TOOLS = ("data", "artifacts", "suggestions")
"""Modules with `tools(session)`, run by this server. They are imported at the first request."""

WORKSPACE_FUNCTIONS = ("dashboards", "skills", "agents")
"""Modules with `functions(session)`, run by Workspace, besides widgets and MCP tools."""


class SessionToolbox:
    """The open sessions by run id, as a toolbox."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        session = self._sessions.get(ask.run_id)
        if session is None:
            return ()
        tools = [replace(tool, approval="exempt") for factory in load_tool_factories() for tool in factory(session)]
        session.face_tools = tuple([tool.name for tool in tools])
        return [*tools, *map(as_tool, session.catalog.functions.values())]

    def register(self, run_id: str, session: Session) -> None:
        self._sessions[run_id] = session

    async def close(self, run_id: str) -> None:
        if session := self._sessions.pop(run_id, None):
            await session.aclose()


def as_tool(function: WorkspaceFunction) -> Tool:
    """Invalid arguments are returned to the model and not sent to Workspace."""
    return replace(Tool.offered(function.offer), check=function.write)


def workspace_functions(session: Session) -> list[WorkspaceFunction]:
    if session.is_legacy:
        return []
    return [function for factory in load_function_factories() for function in factory(session)]


@cache
def load_tool_factories() -> list[Callable[[Session], Sequence[Tool]]]:
    return [_load_module(name).tools for name in SERVER_TOOLS]


@cache
def load_function_factories() -> list[Callable[[Session], Sequence[WorkspaceFunction]]]:
    return [_load_module(name).functions for name in WORKSPACE_FUNCTIONS]


def _load_module(name: str) -> Any:
    return import_module(f"rightseat.faces.openbb.tools.{name}")
