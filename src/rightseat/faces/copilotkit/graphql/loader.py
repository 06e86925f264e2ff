"""Loads GraphQL with its first request: importing it takes a sixth of a start, and only clients up to 1.10.6 use it."""

import asyncio
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rightseat.faces.copilotkit.graphql.operations import GraphQL


class GraphQLLoader:
    """`build` is called once, in a thread."""

    def __init__(self, build: "Callable[[], GraphQL]") -> None:
        self._build = build
        self._lock = Lock()
        self._loaded: GraphQL | None = None

    async def load(self) -> "GraphQL":
        if self._loaded is None:
            return await asyncio.to_thread(self._load)
        return self._loaded

    def _load(self) -> "GraphQL":
        with self._lock:  # several requests may be the first ones
            if self._loaded is None:
                self._loaded = self._build()
            return self._loaded
