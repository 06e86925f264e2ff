"""Counters and times in Prometheus' form. One of these for a server; the face `metrics` shows what it has."""

from time import perf_counter

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from rightseat.core.observing import Attributes, Kind, Span, Value

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
LABELS: dict[Kind, str] = {"run": "agent", "model": "model", "tool": "tool", "step": "step"}
NOUNS: dict[Kind, str] = {"run": "runs", "model": "model_calls", "tool": "tool_calls", "step": "steps"}


class Metrics:
    """`core.observing.Observer`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.ended = {kind: self._counter(kind) for kind in LABELS}
        self.seconds = {kind: self._histogram(kind) for kind in LABELS}
        self.running = Gauge("rightseat_runs_running", "Runs that have not ended.", registry=self.registry)
        self.tokens = Counter(
            "rightseat_tokens", "Tokens that models read and wrote.", ("model", "direction"), registry=self.registry
        )

    def begin(self, kind: Kind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        if kind == "run":
            self.running.inc()
        return Measured(self, kind, name)

    def text(self) -> bytes:
        return generate_latest(self.registry)

    def _counter(self, kind: Kind) -> Counter:
        said = f"How many {NOUNS[kind].replace('_', ' ')} have ended, and how."
        return Counter(f"rightseat_{NOUNS[kind]}", said, (LABELS[kind], "outcome"), registry=self.registry)

    def _histogram(self, kind: Kind) -> Histogram:
        said = f"How long {NOUNS[kind].replace('_', ' ')} take."
        name = f"rightseat_{NOUNS[kind]}_seconds"
        return Histogram(name, said, (LABELS[kind],), buckets=SECONDS, registry=self.registry)


SERVER = Metrics()
"""Of this process: what a server shows is all that its process does."""


class Measured:
    def __init__(self, metrics: Metrics, kind: Kind, name: str) -> None:
        self._metrics = metrics
        self._kind: Kind = kind
        self._name = name
        self._began = perf_counter()
        self._outcome = "done"

    def note(self, **attributes: Value) -> None:
        if error := attributes.get("error"):
            self._outcome = str(error)
        elif outcome := attributes.get("outcome"):
            self._outcome = str(outcome)
        for direction in ("input", "output"):
            if count := attributes.get(f"{direction}_tokens"):
                self._metrics.tokens.labels(self._name, direction).inc(float(count))

    def end(self, error: str | None = None) -> None:
        self._metrics.ended[self._kind].labels(self._name, error or self._outcome).inc()
        self._metrics.seconds[self._kind].labels(self._name).observe(perf_counter() - self._began)
        if self._kind == "run":
            self._metrics.running.dec()
