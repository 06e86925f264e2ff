"""What `rightseat check` says of a model: which style was chosen for it and why, and what runs it."""

import asyncio
from collections.abc import AsyncIterator

from rightseat.core.errors import ConfigError, RightseatError
from rightseat.models.completion.engine import Description
from rightseat.models.completion.engines import AnyEngine, Spawned
from rightseat.models.completion.styles import choose

SOON = 5.0  # seconds for an engine to say what it has


async def explain(engine: AnyEngine, wanted: str) -> AsyncIterator[str]:
    """In lines. No engine is started for it; one that does not answer is told.

    Raises `ConfigError` where one that we start could not be started: no server would come up.
    """
    yield f"engine: {engine.place}"
    try:
        async with asyncio.timeout(SOON):
            description = await _look(engine)
    except TimeoutError:
        yield f"style: not known yet, because the engine said nothing within {SOON:g} s"
        return
    except ConfigError:
        raise
    except RightseatError as error:
        yield f"style: not known yet. {error.message}"
        return
    style, why = choose(description, wanted)
    yield f"style: {style.name}, because {why}"


async def _look(engine: AnyEngine) -> Description:
    if isinstance(engine, Spawned):
        return await engine.preview()
    async with engine:
        return await engine.describe()
