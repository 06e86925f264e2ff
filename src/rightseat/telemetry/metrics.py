"""Prometheus counters and histograms of runs, model calls, tool calls and steps. The face `metrics` serves them.

With several workers, the Prometheus client keeps the values in files that all of them read: each worker reports the
metrics of the whole server.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from time import perf_counter

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from rightseat.core.tracing import REQUEST_BEGAN, Attributes, AttributeValue, Span, TraceKind
from rightseat.limits.book import HeldAmount
from rightseat.limits.rules import NANO
from rightseat.telemetry.server_metrics import Sampler, ServerMetrics

CONTENT_TYPE = CONTENT_TYPE_LATEST
HAS_WORKERS = "PROMETHEUS_MULTIPROC_DIR" in os.environ
"""`rightseat serve --workers` sets it. The Prometheus client reads it when it is imported."""
BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
ADMISSION_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
LABELS: dict[TraceKind, str] = {"run": "agent", "model": "model", "tool": "tool", "step": "step"}
DIRECTIONS = {"input": "input_tokens", "output": "output_tokens", "cached": "cache_read_tokens"}
"""Of tokens. Those that the provider read from its cache are a part of the input."""
NOUNS: dict[TraceKind, str] = {"run": "runs", "model": "model_calls", "tool": "tool_calls", "step": "steps"}


class Metrics:
    """A `core.tracing.Observer`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.ended = {kind: self._counter(kind) for kind in LABELS}
        self.seconds = {kind: self._histogram(kind) for kind in LABELS}
        self.running = Gauge(
            "rightseat_runs_running", "Active runs.", registry=self.registry, multiprocess_mode="livesum"
        )
        self.tokens = Counter(
            "rightseat_tokens",
            "Input, output and cached input tokens of models.",
            ("model", "direction"),
            registry=self.registry,
        )
        self.limits = LimitMetrics(self.registry)
        self.server = ServerMetrics(self.registry)
        self.samplers: set[Sampler] = set()
        """Of the servers of this process that are open."""

    def start_span(self, kind: TraceKind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        if kind == "run":
            self.running.inc()
        return MetricsSpan(self, kind, name, str(attributes.get("face", "")))

    async def read(self) -> bytes:
        """The metrics as text, with current values."""
        for sampler in tuple(self.samplers):
            await sampler.sample()
        return await asyncio.to_thread(self.text)

    def text(self) -> bytes:
        return generate_latest(WithoutReservedTypes(all_workers() if HAS_WORKERS else self.registry))

    def _counter(self, kind: TraceKind) -> Counter:
        help_text = f"Finished {NOUNS[kind].replace('_', ' ')}, by outcome."
        return Counter(f"rightseat_{NOUNS[kind]}", help_text, (LABELS[kind], "outcome"), registry=self.registry)

    def _histogram(self, kind: TraceKind) -> Histogram:
        help_text = f"Duration of {NOUNS[kind].replace('_', ' ')} in seconds."
        name = f"rightseat_{NOUNS[kind]}_seconds"
        return Histogram(name, help_text, (LABELS[kind],), buckets=BUCKETS_S, registry=self.registry)


def all_workers() -> CollectorRegistry:
    """The metrics of all workers. The one that responds may be any of them."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


class WithoutReservedTypes(Collector):
    """`promtool check metrics` refuses a gauge whose name ends as the count of a histogram does, and OpenTelemetry
    calls one so. Without a type it is the same series."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for metric in self._registry.collect():
            if metric.type == "gauge" and metric.name.endswith("_count"):
                metric.type = "unknown"
            yield metric


class LimitMetrics:
    """A `limits.observer.LimitObserver`. No label has a user or a key."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._refused = Counter(
            "rightseat_refused", "Asks and model calls that a limit refused.", ("limit", "code"), registry=registry
        )
        self._warned = Counter(
            "rightseat_budget_warnings", "Budgets of which 80 % were used.", ("limit",), registry=registry
        )
        self._reserved = Gauge(
            "rightseat_reserved",
            "What this process holds of a limit: concurrent runs, tokens, or cost in the currency.",
            ("limit", "kind"),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._cost = Counter(
            "rightseat_cost", "Cost of model calls.", ("agent", "model", "currency"), registry=registry
        )
        self._queued = Gauge(
            "rightseat_queued",
            "Asks of this process that wait for a limit.",
            ("limit",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._queue_seconds = Histogram(
            "rightseat_queue_seconds",
            "How long asks waited for a limit, whether or not they were admitted.",
            ("limit",),
            buckets=BUCKETS_S,
            registry=registry,
        )
        self._admission_seconds = Histogram(
            "rightseat_admission_seconds",
            "How long the store took to admit or refuse an ask or a model call, without the time in a queue.",
            buckets=ADMISSION_BUCKETS_S,
            registry=registry,
        )
        self._downgraded = Counter(
            "rightseat_downgraded", "Asks that a limit made run with another model.", ("limit",), registry=registry
        )

    def expect(self, limits: Iterable[str]) -> None:
        """Their queues are 0 before the first ask waits; without a limit there is one queue of 0, without a label."""
        for limit in tuple(limits) or ("",):
            self._queued.labels(limit)

    def admit(self, seconds: float) -> None:
        self._admission_seconds.observe(seconds)

    def refuse(self, limit: str, code: str) -> None:
        self._refused.labels(limit, code).inc()

    def warn(self, limit: str) -> None:
        self._warned.labels(limit).inc()

    def hold(self, amounts: Sequence[HeldAmount]) -> None:
        for one in amounts:
            self._reserved.labels(one.key.limit, one.kind).inc(scaled(one))

    def release(self, amounts: Sequence[HeldAmount]) -> None:
        for one in amounts:
            self._reserved.labels(one.key.limit, one.kind).dec(scaled(one))

    def spend(self, agent: str, model: str, currency: str, cost: float) -> None:
        self._cost.labels(agent, model, currency).inc(cost)

    def enqueue(self, limit: str) -> None:
        self._queued.labels(limit).inc()

    def dequeue(self, limit: str, seconds: float) -> None:
        self._queued.labels(limit).dec()
        self._queue_seconds.labels(limit).observe(seconds)

    def downgrade(self, limit: str) -> None:
        self._downgraded.labels(limit).inc()


def scaled(held: HeldAmount) -> float:
    return held.amount / NANO if held.kind == "cost" else held.amount


SERVER = Metrics()
"""The metrics of this process, which all servers in it share."""


class MetricsSpan:
    def __init__(self, metrics: Metrics, kind: TraceKind, name: str, face: str = "") -> None:
        self._metrics = metrics
        self._face = face
        self._request_began = REQUEST_BEGAN.get() if kind == "run" else None
        self._kind: TraceKind = kind
        self._name = name
        self._began = perf_counter()
        self._outcome = "done"

    def note(self, **attributes: AttributeValue) -> None:
        if error := attributes.get("error"):
            self._outcome = str(error)
        elif outcome := attributes.get("outcome"):
            self._outcome = str(outcome)
        for direction, name in DIRECTIONS.items():
            if count := attributes.get(name):
                self._metrics.tokens.labels(self._name, direction).inc(float(count))

    def mark_first_chunk(self) -> None:
        """Only those of runs have a metric, if their request came to this process."""
        if self._request_began is not None:
            seconds = perf_counter() - self._request_began
            self._metrics.server.observe_first_chunk(self._face, self._name, seconds)

    def end(self, error: str | None = None) -> None:
        self._metrics.ended[self._kind].labels(self._name, error or self._outcome).inc()
        self._metrics.seconds[self._kind].labels(self._name).observe(perf_counter() - self._began)
        if self._kind == "run":
            self._metrics.running.dec()
