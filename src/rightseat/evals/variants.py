"""The variant of a configuration that is evaluated: another file, another model of the agents, other values of keys."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from rightseat import config as configuration
from rightseat.app.builder import redactor_of
from rightseat.config import Config, ConfiguredPart
from rightseat.config import document as documents
from rightseat.core.errors import ConfigError
from rightseat.core.types import JsonValue
from rightseat.parts import hint


def load_variant(path: Path | None, values: Sequence[str] = ()) -> Config:
    """The configuration with these `KEY=VALUE`, whose keys are separated by dots and whose values are YAML.

    Raises `ConfigError`, also for a key whose section is not in the file.
    """
    if not values:
        return configuration.find(path)
    path = path or (Path(configuration.FILE) if Path(configuration.FILE).exists() else None)
    try:
        whole = documents.load(path.read_text(encoding="utf-8") if path else "", os.environ).value or {}
    except (OSError, UnicodeDecodeError, documents.UnreadableDocument):
        return configuration.find(path)  # which explains what is wrong with the file
    changed = {set_value(whole, text) for text in values}
    return configuration.build({key: whole[key] for key in changed}, path)


def set_value(whole: Any, text: str) -> str:
    """Set the value in place, and return the top-level key. Raises `ConfigError`."""
    name, equals, written = text.partition("=")
    *sections, last = name.split(".")
    if not equals or not all((*sections, last)):
        raise ConfigError(f"--set {text}: expected KEY=VALUE, such as agents.default.instructions=Sing.")
    try:
        value = yaml.safe_load(written)
    except yaml.YAMLError:
        value = written
    place = whole
    for section in (*sections, None):
        if isinstance(place, list) and (section or last).isdecimal() and int(section or last) < len(place):
            key: Any = int(section or last)
        elif isinstance(place, dict) and (section is None or section in place):
            key = section or last
        else:
            known = list(place) if isinstance(place, dict) else []
            raise ConfigError(f"--set {name}: there is no {section or last!r}.{hint(section or last, known)}")
        if section is None:
            place[key] = value
        else:
            place = place[key]
    return sections[0] if sections else last


def with_model(config: Config, agents: Collection[str], model: str) -> Config:
    """The configuration in which these agents have the model. Raises `ConfigError`."""
    if model not in config.models:
        raise ConfigError(f"--model {model}: there is no such model.{hint(model, config.models)}")
    changed = dict(config.agents)
    for name in agents:
        options = config.agents[name].options
        if not hasattr(options, "model"):
            raise ConfigError(f"--model {model}: the agent {name!r} of type {config.agents[name].type} has no model.")
        changed[name] = replace(config.agents[name], options=options.model_copy(update={"model": model}))
    return replace(config, agents=changed)


def describe_settings(config: Config) -> dict[str, JsonValue]:
    """What decides how the agents answer, as in the file, without secrets."""
    redactor = redactor_of(config)
    sections: Mapping[str, Mapping[str, ConfiguredPart]] = {
        "models": config.models,
        "toolboxes": config.toolboxes,
        "agents": config.agents,
        "guards": {str(number): guard for number, guard in enumerate(config.guards)},
    }
    settings: dict[str, JsonValue] = {
        section: {name: {"type": part.type, **_dump(part.options)} for name, part in parts.items()}
        for section, parts in sections.items()
    }
    redacted = redactor.redact_value(settings)
    assert isinstance(redacted, dict)  # noqa: S101  # the same shape
    return redacted


def _dump(options: BaseModel) -> dict[str, Any]:
    dumped: dict[str, Any] = options.model_dump(mode="json", fallback=lambda value: type(value).__qualname__)
    return dumped
