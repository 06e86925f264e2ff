"""What the tools of one answer share: the request, what was read for it, and what has been made.

A desk is there from the request until its answer has ended. Tools that need one are for asks that came through this
face: `Desks` is the toolbox that all agents get, and gives nothing to any other ask.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.tools import Tool
from rightseat.faces.openbb.asking import Query, Returned
from rightseat.faces.openbb.functions import Function

if TYPE_CHECKING:
    from rightseat.data.documents import Document
    from rightseat.data.fitting import Room
    from rightseat.data.tables import Tables
    from rightseat.faces.openbb.citing import Quotes

MAKERS = ("reading_tools", "artifacts", "suggesting")
"""Modules with `tools(desk)`: what the server itself does for an answer. Imported when the first request comes."""

OFFERERS = ("dashboards", "skills", "tasks")
"""Modules with `functions(desk)`: what Workspace does."""

NOTHING: Mapping[str, Any] = {}
LETTERS = {"widget": "S", "artifact": "C", "web": "U", "direct retrieval": "T"}


@dataclass(slots=True, kw_only=True)
class Source:
    """Something that the model was shown, and may be cited. `label` is what the model calls it by.

    `fresh` was read for this very question. `documents` have words and their places, where there are such. `split`
    names the argument whose values Workspace wants cited one by one; `passed_on` are citations that came with the data.
    """

    kind: Literal["widget", "artifact", "web", "direct retrieval"]
    name: str
    label: str = ""
    uuid: str | None = None
    origin: str | None = None
    widget_id: str | None = None
    description: str | None = None
    arguments: Mapping[str, Any] | None = None
    link: str | None = None
    split: str | None = None
    passed_on: tuple[Mapping[str, Any], ...] = ()
    citable: bool = True
    fresh: bool = True
    failed: bool = False
    documents: "list[Document]" = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """Data that was short enough to be shown as it is, for tools that use it again."""


class Desk:
    __slots__ = (
        "functions",
        "has_results",
        "legacy",
        "names",
        "notes",
        "own",
        "query",
        "quotes",
        "room",
        "sources",
        "tables",
    )

    def __init__(self, query: Query) -> None:
        self.query = query
        self.legacy = query.legacy
        self.sources: list[Source] = []
        self.tables: Tables | None = None
        self.quotes: Quotes | None = None  # where there are documents that have been made ready to be quoted
        self.room: Room | None = None  # what tools that look into data may still say of it
        self.names: list[str] = []  # of the chat's artifacts
        self.functions: Mapping[str, Function] = {}
        self.has_results = any(isinstance(entry, Returned) for entry in query.messages)
        self.notes: list[str] = []  # what the user should know before the answer
        self.own: tuple[str, ...] = ()  # tools of ours, which say themselves what they do

    def add(self, source: Source) -> Source:
        """Put it among the sources, under a label of its own that counts those of its kind."""
        letter = LETTERS[source.kind]
        source.label = f"{letter}{sum(known.label[:1] == letter for known in self.sources) + 1}"
        self.sources.append(source)
        return source

    def unique(self, name: str) -> str:
        """A name that no artifact of the chat has: Workspace finds them by name."""
        found, number = name, 1
        while found in self.names:
            number += 1
            found = f"{name} ({number})"
        self.names.append(found)
        return found

    def put_away(self) -> None:
        """Let go of what came with the request, once it is read: it may be long, and an answer takes its time."""
        self.query = msgspec.structs.replace(self.query, messages=(), context=(), raw=NOTHING)

    async def aclose(self) -> None:
        if self.tables is not None:
            await self.tables.aclose()


class Desks:
    """The toolbox of the face: what a desk's tools are, while it is there."""

    def __init__(self) -> None:
        self._desks: dict[str, Desk] = {}

    async def tools(self, ask: Ask) -> Sequence[Tool]:
        desk = self._desks.get(ask.run_id)
        if desk is None:
            return ()
        found = [replace(tool, asks=False) if tool.asks else tool for make in makers() for tool in make(desk)]
        desk.own = tuple([tool.name for tool in found])
        return [*found, *map(checked, desk.functions.values())]

    def put(self, run_id: str, desk: Desk) -> None:
        self._desks[run_id] = desk

    async def clear(self, run_id: str) -> None:
        if desk := self._desks.pop(run_id, None):
            await desk.aclose()


def checked(function: Function) -> Tool:
    """A call that Workspace could not use goes back to the model."""
    return replace(Tool.offered(function.offer), check=function.write)


@cache
def makers() -> list[Callable[[Desk], Sequence[Tool]]]:
    return [_load(name).tools for name in MAKERS]


@cache
def offerers() -> list[Callable[[Desk], Sequence[Function]]]:
    return [_load(name).functions for name in OFFERERS]


def _load(name: str) -> Any:
    return import_module(f"rightseat.faces.openbb.{name}")
