"""Loads GraphQL with its first request: importing it takes a sixth of a start, and only clients up to 1.10.6 use it."""

import asyncio
from importlib import import_module
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
        self._loaded: GraphQL | None = None

    async def load(self) -> "GraphQL":
        if self._loaded is None:
            self._loaded = await asyncio.to_thread(self._build)
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
