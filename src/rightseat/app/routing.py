"""The routes of every face, each behind its door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter

from rightseat.access.door import Door, Doorman, guard_of
from rightseat.app.assembling import Assembly
from rightseat.config import Part
from rightseat.core.errors import ConfigError


def router(assembly: Assembly) -> APIRouter:
    """The routes of every face. Whoever includes it runs its lifespan too."""

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with assembly.opened():
            yield

    whole = APIRouter(lifespan=lifespan)
    for place, face in enumerate(assembly.faces):
        door = door_of(face, assembly.doorman)
        brought = [assembly.brought[place]] if place in assembly.brought else []
        for route in face.module.routes(assembly.runtime, face.options, door, *brought).routes:
            if guard_of(getattr(route, "endpoint", None)) is not door:
                raise ConfigError(f"The face {face.type!r} has a route that is not behind its door: {route}.")
            whole.routes.append(route)
    return whole


def door_of(face: Part, doorman: Doorman | None) -> Door:
    if face.access == "keys" and doorman is None:
        raise ConfigError(f"The face {face.type!r} asks for keys, and there are none.")
    pages = getattr(face.module, "pages", None)
    return Door(
        face.type,
        None if face.access == "open" else doorman,
        inner=doorman,
        pages=None if pages is None else pages(face.options),
    )
