"""Builds the observers of runs that the configuration enables: traces and metrics."""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from rightseat.app.request_id import ObserveRequest
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.core.run.observers import CountTakeover, ignore_takeover
from rightseat.core.tracing import NO_OBSERVER, Observer
from rightseat.health.readiness import Readiness
from rightseat.installation import install_command
from rightseat.limits.observer import NO_LIMIT_OBSERVER, LimitObserver
from rightseat.operations.database_metrics import ReportsDatabase
from rightseat.operations.leases import HeldLease
from rightseat.telemetry.composite import CompositeObserver

if TYPE_CHECKING:
    from rightseat.telemetry.server_metrics import Sampler, ServerMetrics


def build_observers(config: Config) -> list[Observer]:
    """OpenTelemetry and the Prometheus client are large, so they are imported only if they are enabled."""
    telemetry = config.telemetry
    observers: list[Observer] = []
    if telemetry.traces:
        traces = _import_package("rightseat.telemetry.traces", "Traces", "telemetry")
        endpoint = telemetry.traces if isinstance(telemetry.traces, str) else None
        observers.append(traces.Traces(endpoint, telemetry.service_name, version("rightseat")))
    if has_metrics(config):
        observers.append(_import_package("rightseat.telemetry.metrics", "Metrics", "metrics").SERVER)
    return observers


def build_limit_observer(config: Config) -> LimitObserver:
    if not has_metrics(config):
        return NO_LIMIT_OBSERVER
    observer: LimitObserver = _import_package("rightseat.telemetry.metrics", "Metrics", "metrics").SERVER.limits
    return observer


def observe_server(
    config: Config, readiness: Readiness, databases: Sequence[ReportsDatabase], lease: HeldLease | None
) -> "ServerObservers":
    """For the metrics of the server itself; they do nothing if the configuration has no metrics."""
    if not has_metrics(config):
        return ServerObservers()
    module = _import_package("rightseat.telemetry.metrics", "Metrics", "metrics")
    metrics: ServerMetrics = module.SERVER.server
    module.SERVER.limits.expect(limit.name for limit in config.limits)
    for database in databases:
        database.observe_operations(metrics.observe_operation)
    sampler = import_module("rightseat.telemetry.server_metrics").Sampler(
        metrics, module.SERVER.samplers, readiness.states, databases, lease, has_workers=module.HAS_WORKERS
    )
    return ServerObservers(metrics.observe_request, metrics.count_takeover, sampler)


class ServerObservers(NamedTuple):
    """`sampler` is opened with the server."""

    observe_request: ObserveRequest | None = None
    count_takeover: CountTakeover = ignore_takeover
    sampler: "Sampler | None" = None


def has_metrics(config: Config) -> bool:
    return any(face.type == "metrics" for face in config.faces)


def combine_observers(observers: Sequence[Observer]) -> Observer:
    return CompositeObserver(observers) if observers else NO_OBSERVER


def _import_package(path: str, name: str, extra: str) -> Any:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{name} need a package that is not installed: {install_command(extra)}") from error
