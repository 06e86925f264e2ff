"""Where a copilot keeps its threads."""

import os
from dataclasses import replace
from pathlib import Path

from rightseat import config, parts
from rightseat.config import Config, ConfiguredPart
from rightseat.core.errors import ConfigError


def in_memory(found: Config) -> Config:
    """The same configuration without storage, and so without durable runs."""
    plain = config.in_memory(found)
    engine = config.parse("", environ={}).engine
    return replace(plain, engine=engine, agents={name: make_transient(part) for name, part in found.agents.items()})


def make_transient(agent: ConfiguredPart) -> ConfiguredPart:
    if not getattr(agent.options, "durable", False):
        return agent
    return replace(agent, options=agent.options.model_copy(update={"durable": False}))


def find_state_file(found: Config) -> Path | None:
    """The file of the threads; None if they are elsewhere."""
    options = found.threads.options
    path = getattr(options, "path", None)
    return path if isinstance(path, Path) and getattr(options, "url", None) is None else None


def describe(found: Config) -> str:
    file = find_state_file(found)
    if file is not None:
        return str(file)
    return "the memory of this process" if found.threads.type == "memory" else "a database"


def check(found: Config) -> None:
    """Raises `ConfigError` if threads could not be written, before the first user finds out."""
    file = find_state_file(found)
    if file is None:
        return
    try:
        parts.private_folder(file.parent)
        is_writable = os.access(file.parent, os.W_OK)
    except ConfigError:
        is_writable = False
    if not is_writable:
        raise ConfigError(
            f"Threads would be kept in {file.parent.absolute()}, which cannot be written. Set `state_dir=` to another "
            "folder, or `database=` to 'postgresql://…' or 'memory'."
        )
