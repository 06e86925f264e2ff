"""Loads GraphQL with its first request: importing it takes a sixth of a start, and only clients up to 1.10.6 use it."""

import asyncio
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING

from rightseat.faces.copilotkit.graphql.context import SchemaContext

if TYPE_CHECKING:
    from rightseat.faces.copilotkit.graphql.operations import GraphQL


class GraphQLLoader:
    def __init__(
        self,
        context: SchemaContext,
        *,
        introspection: bool,
        headers: tuple[str, ...],
        keep_alive: float,
        path: str | None,
    ) -> None:
        self._context = context
        self._introspection = introspection
        self._headers = headers
        self._keep_alive = keep_alive
        self._path = path
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

    def _build(self) -> "GraphQL":
        operations = import_module("rightseat.faces.copilotkit.graphql.operations")
        built: GraphQL = operations.GraphQL(
            self._context,
            introspection=self._introspection,
            headers=self._headers,
            keep_alive=self._keep_alive,
            path=self._path,
        )
        return built
