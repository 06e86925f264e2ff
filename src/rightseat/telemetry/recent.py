"""Counts the runs, model calls and tool calls of the last day in this process, by minute and agent, for the console."""

import time
from collections.abc import Callable, Iterator

from rightseat.core.run.spans import describe_span, note_tokens
from rightseat.core.tracing import Attributes, AttributeValue, Span, TraceKind
from rightseat.core.usage import ModelUsage
from rightseat.operations.tally import OTHER, Tally

MINUTE_S = 60
KEPT_S = 24 * 3600 + 15 * MINUTE_S  # a day, and the part of the first bar of a chart before it
MAX_TALLIES = 20_000
"""About 55 MB: 2.7 KB each with 20 runs, two models and four tools in a minute. Beyond it the oldest minutes are
dropped, and `since` says so."""
MAX_AGENTS = 100  # in one minute; the runs of others are counted as those of `OTHER`


class RecentMetrics:
    """A `core.tracing.Observer`, and `operations.tally.RecentTallies`."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._since = clock()
        self._minutes: dict[int, dict[str, Tally]] = {}  # the oldest first
        self._size = 0
        self._running: dict[str, int] = {}

    @property
    def since(self) -> float:
        return max(self._since, self._clock() - KEPT_S)

    def list(self, since: float) -> Iterator[tuple[float, str, Tally]]:
        for minute, agents in list(self._minutes.items()):
            if (minute + 1) * MINUTE_S > since:
                yield from ((minute * MINUTE_S, agent, tally) for agent, tally in agents.items())

    def running(self) -> dict[str, int]:
        return dict(self._running)

    def start_span(self, kind: TraceKind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        agent = parent.agent if isinstance(parent, CountedSpan) else name
        if kind == "run":
            self._running[agent] = self._running.get(agent, 0) + 1
        name, about = describe_span(name, attributes)
        model = about.get("model")
        return CountedSpan(self, kind, name, agent, None if model is None else str(model))

    def end_run(self, agent: str) -> None:
        left = self._running.get(agent, 0) - 1
        if left > 0:
            self._running[agent] = left
        else:
            self._running.pop(agent, None)

    def current(self, agent: str) -> Tally:
        """The tally of this minute."""
        minute = int(self._clock() // MINUTE_S)
        agents = self._minutes.get(minute)
        if agents is None:
            agents = self._minutes[minute] = {}
            self._forget(minute)
        if agent not in agents and len(agents) >= MAX_AGENTS:
            agent = OTHER
        if agent not in agents:
            agents[agent] = Tally()
            self._size += 1
        return agents[agent]

    def _forget(self, now: int) -> None:
        while self._minutes:
            oldest = min(self._minutes)  # the clock may have been set back
            if oldest == now or (oldest >= now - KEPT_S // MINUTE_S and self._size < MAX_TALLIES):
                return
            self._size -= len(self._minutes.pop(oldest))
            self._since = max(self._since, (oldest + 1) * MINUTE_S)


class CountedSpan:
    """`agent` is that of the run around it."""

    __slots__ = ("_began", "_kind", "_model", "_name", "_noted", "_recent", "agent")

    def __init__(self, recent: RecentMetrics, kind: TraceKind, name: str, agent: str, model: str | None) -> None:
        self.agent = agent
        self._recent = recent
        self._kind = kind
        self._name = name
        self._model = model
        self._noted: dict[str, AttributeValue] = {}
        self._began = time.perf_counter()

    def note(self, **attributes: AttributeValue) -> None:
        self._noted.update(attributes)

    def mark_first_chunk(self) -> None:
        self._recent.current(self.agent).first_tokens.add(time.perf_counter() - self._began)

    def end(self, error: str | None = None) -> None:
        if self._kind == "step":
            return
        tally = self._recent.current(self.agent)
        if self._kind == "tool":
            tally.add_tool(self._name)
        elif self._kind == "model":
            usage = note_tokens(None, self._noted) if "input_tokens" in self._noted else None
            tally.add_model(ModelUsage(self._name, 1, usage, self._model))
        else:
            self._recent.end_run(self.agent)
            self._count_run(tally, error)

    def _count_run(self, tally: Tally, error: str | None) -> None:
        """A run that another process goes on with has neither outcome nor error, and is counted there."""
        outcome, code = self._noted.get("outcome"), error or self._noted.get("error")
        if code == "cancelled":
            outcome, code = "cancelled", None
        if outcome is None and code is None:
            return
        seconds = time.perf_counter() - self._began
        tally.add_run("failed" if code else str(outcome), str(code) if code else None, seconds)
