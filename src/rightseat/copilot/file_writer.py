"""Writes a copilot as a configuration file: functions as `module:name`, secrets as `${NAME}`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, SecretStr

from rightseat.config import Config, ConfiguredPart
from rightseat.config.live import LIVE_TYPE, LiveOptions
from rightseat.config.model_names import VARIABLES
from rightseat.core.errors import ConfigError
from rightseat.core.tools import Toolbox
from rightseat.toolboxes.functions import Function, FunctionToolbox

SECTIONS = (
    *(
        "server",
        "access",
        "telemetry",
        "hooks",
        "prices",
        "limits",
        "limits_reserve",
        "limits_webhook",
        "memory",
        "evals",
    ),
)


def write_file(config: Config, missing: Mapping[str, str], own: FunctionToolbox) -> str:
    """`missing` are the variables of models that have no key yet, `own` the tools of all agents.

    Raises `ConfigError` for an object that a file cannot name.
    """
    functions = {name: read_functions(part, name) for name, part in config.toolboxes.items() if part.type == LIVE_TYPE}
    values: dict[str, Any] = {
        "models": {name: write_model(part, name, missing) for name, part in config.models.items()},
        "toolboxes": {
            name: write_part(part, ("toolboxes", name))
            for name, part in config.toolboxes.items()
            if name not in functions
        },
        "agents": {name: write_agent(part, name, functions, own) for name, part in config.agents.items()},
        "guards": [write_part(part, ("guards", str(index))) for index, part in enumerate(config.guards)],
        "faces": [write_face(part, index) for index, part in enumerate(config.faces)],
        "threads": write_part(config.threads, ("threads",)),
        "log": write_part(config.log, ("log",)),
        "engine": write_part(config.engine, ("engine",)),
        "currency": config.currency,
        "timezone": config.timezone,
    }
    values |= {name: write_value(getattr(config, name), (name,)) for name in SECTIONS}
    written = {name: value for name, value in values.items() if value not in (None, {}, [], "USD", "UTC")}
    return yaml.safe_dump(written, sort_keys=False, allow_unicode=True, width=1000)


def write_model(part: ConfiguredPart, name: str, missing: Mapping[str, str]) -> dict[str, Any]:
    written = write_part(part, ("models", name))
    variable = missing.get(name) or VARIABLES.get(part.type)
    if variable and (name in missing or "api_key" in written):
        written["api_key"] = f"${{{variable}}}"
    return written


def write_agent(
    part: ConfiguredPart, name: str, functions: Mapping[str, Sequence[Function]], own: FunctionToolbox
) -> dict[str, Any]:
    written = write_part(part, ("agents", name))
    named = written.pop("toolboxes", [])
    found = [function for toolbox in named if toolbox in functions for function in functions[toolbox]]
    if part.type == "loop":
        found += own.functions
    if tools := [*written.pop("tools", []), *(name_function(approval) for approval in found)]:
        written["tools"] = tools
    if others := [toolbox for toolbox in named if toolbox not in functions]:
        written["toolboxes"] = others
    return {key: value for key, value in written.items() if value not in (None, [], "")}


def write_face(part: ConfiguredPart, index: int) -> dict[str, Any]:
    written = write_part(part, ("faces", str(index)))
    return written if part.access is None else {**written, "access": part.access}


def write_part(part: ConfiguredPart, place: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(part.options, LiveOptions):
        raise refuse(".".join(place), part.options.python)
    return {"type": part.type, **write_value(part.options, place)}


def read_functions(part: ConfiguredPart, name: str) -> Sequence[Function]:
    toolbox: Toolbox = part.module.build(part.options, None)
    if not isinstance(toolbox, FunctionToolbox):
        raise refuse(f"toolboxes.{name}", type(toolbox).__qualname__)
    return toolbox.functions


def name_function(function: Function) -> str:
    """Raises `ConfigError` for a function that cannot be imported by its name."""
    name = f"{function.__module__}:{function.__qualname__}"
    if "<" in name or "." in function.__qualname__ or function.__module__ == "__main__":
        raise refuse("tools", name)
    return name


def refuse(place: str, what: str) -> ConfigError:
    return ConfigError(
        f"A file cannot name {what} ({place}). Write `module:name` of something that can be imported, or pass it to "
        "`Copilot.from_file`."
    )


def write_value(value: Any, place: tuple[str, ...]) -> Any:
    """As YAML has it. Secrets become variables, which are named after their place."""
    if isinstance(value, SecretStr):
        return f"${{{name_variable(value.get_secret_value(), place)}}}"
    if isinstance(value, BaseModel):
        set_fields = {name: getattr(value, name) for name in type(value).model_fields if name in value.model_fields_set}
        return write_value(set_fields, place)
    if isinstance(value, Mapping):
        return {name: write_value(one, (*place, str(name))) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [write_value(one, (*place, str(index))) for index, one in enumerate(value)]
    return str(value) if isinstance(value, Path) else value


def name_variable(secret: str, place: tuple[str, ...]) -> str:
    if place[-1] == "url" and place[0] in ("threads", "log", "engine"):
        return "REDIS_URL" if secret.startswith(("redis", "unix")) else "DATABASE_URL"
    return re.sub(r"[^A-Z0-9]+", "_", "_".join(place).upper()).strip("_")
