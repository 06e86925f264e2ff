"""Builds the context of the checks in `health` for a command that runs beside the server.

Threads and log are in memory, and runs are not started. Parts are opened one by one: one that fails hides no other.
"""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from pydantic import SecretStr

from rightseat.app import application
from rightseat.app.builder import Assembly, assemble, redactor_of
from rightseat.config import FILE, ApiKey, Config, Server, in_memory, read_server
from rightseat.core.errors import ConfigError
from rightseat.health.address import find_running_server
from rightseat.health.context import CheckContext
from rightseat.health.models import starts_server
from rightseat.health.readiness import dependencies_of


@asynccontextmanager
async def diagnosed(
    loaded: Config | ConfigError, path: Path | None, *, port: int | None = None, origin: str | None = None
) -> AsyncIterator[CheckContext]:
    """`loaded` is the configuration at `path`, or the error of loading it."""
    file = path or Path(FILE)
    server = override_port(loaded.server if isinstance(loaded, Config) else read_server(file), port)
    running = await find_running_server(server)
    context = CheckContext(server, file, origin=origin, running=running)
    if isinstance(loaded, ConfigError):
        yield replace(context, problems=loaded.message.splitlines())
        return
    addresses = [dependency.address for dependency in dependencies_of(loaded)]
    redactor = redactor_of(loaded, public=addresses)
    context = replace(context, config=loaded, redactor=redactor, problems=find_build_problems(loaded))
    key = secrets.token_urlsafe(32)
    try:
        assembly = assemble(with_key(in_memory(loaded), key))
        served = application(assembly, server)
    except ConfigError as error:
        yield replace(context, problems=list(dict.fromkeys((*context.problems, *error.message.splitlines()))))
        return
    async with AsyncExitStack() as stack:
        failures = await open_parts(stack, assembly, loaded, has_server=running is not None)
        yield replace(
            context,
            models=assembly.runtime.models,
            toolboxes=assembly.toolboxes,
            agents=assembly.runtime.agents,
            failures=failures,
            application=served,
            key=key if loaded.access.is_set else None,
        )


def override_port(server: Server, port: int | None) -> Server:
    return server if port is None else server.model_copy(update={"port": port})


def find_build_problems(config: Config) -> list[str]:
    """What only building finds, such as the missing driver of a database. Nothing is opened."""
    try:
        application(assemble(config), config.server)
    except ConfigError as error:
        return error.message.splitlines()
    return []


def with_key(config: Config, key: str) -> Config:
    """The same with one more key, if there are any: the hash of a key is not enough to send it."""
    if not config.access.is_set:
        return config
    keys = (*config.access.keys, ApiKey(name="rightseat doctor", key=SecretStr(key)))
    return replace(config, access=config.access.model_copy(update={"keys": keys}))


async def open_parts(
    stack: AsyncExitStack, assembly: Assembly, config: Config, *, has_server: bool
) -> Mapping[str, Exception]:
    """Open models, toolboxes and agents. Returns the errors of those that fail.

    A model server that the running server has started already is not started again.
    """
    models = {
        name: model
        for name, model in assembly.runtime.models.items()
        if not (has_server and starts_server(config.models[name]))
    }
    failures: dict[str, Exception] = {}
    for section, parts in (("models", models), ("toolboxes", assembly.toolboxes), ("agents", assembly.runtime.agents)):
        for name, part in parts.items():
            if isinstance(part, AbstractAsyncContextManager):
                try:
                    await stack.enter_async_context(part)
                except Exception as error:  # it becomes a finding
                    failures[f"{section}.{name}"] = error
    return failures
