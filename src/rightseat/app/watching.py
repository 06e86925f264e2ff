"""Who is told of all that runs do."""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.core.observing import NOBODY, Observer
from rightseat.telemetry.several import Several


def watch(config: Config) -> list[Observer]:
    """Who is told of all that runs do. What tells them is large, so only a server that wants it imports it."""
    told = config.telemetry
    observers: list[Observer] = []
    if told.traces:
        traces = import_part("rightseat.telemetry.traces", "Traces")
        endpoint = told.traces if isinstance(told.traces, str) else None
        observers.append(traces.Traces(endpoint, told.service, version("rightseat")))
    if any(face.type == "metrics" for face in config.faces):
        observers.append(import_part("rightseat.telemetry.metrics", "Metrics").SERVER)
    return observers


def together(observers: Sequence[Observer]) -> Observer:
    return Several(observers) if observers else NOBODY


def import_part(path: str, what: str) -> Any:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{what} need a package that is not installed: pip install 'rightseat[telemetry]'") from error
