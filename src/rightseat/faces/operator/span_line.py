"""The timeline of a run, from the spans in its log: names, times, tokens and errors, without any text."""

from collections.abc import Iterable, Sequence

import msgspec

from rightseat.core.events import Event, SpanEnded, SpanStarted, Usage
from rightseat.core.run.spans import SpanHistory
from rightseat.core.tracing import TraceKind
from rightseat.core.usage import RunTotals
from rightseat.faces.operator.run_line import RunTokens, count_tokens
from rightseat.limits.prices import Prices

MAX_SPANS = 20_000
"""In one response: about 3 MB. A run with more has made thousands of model calls; its log has all of them."""


class SpanLine(msgspec.Struct, frozen=True, rename={"started": "from", "ended": "to"}):
    """Times are in milliseconds since the run began; `to` is null while the span is open."""

    span: str
    kind: TraceKind
    name: str
    started: int
    ended: int | None = None
    parent: str | None = None
    about: dict[str, str | int] | None = None
    first: int | None = None
    usage: Usage | None = None
    reason: str | None = None
    error: str | None = None


class ModelLine(msgspec.Struct, frozen=True):
    """The calls of one model. `model` is the provider's name of it, if it differs from `name`."""

    name: str
    model: str | None
    calls: int
    tokens: RunTokens | None
    cost: float | None


class TotalsLine(msgspec.Struct, frozen=True):
    """The sums over all spans, also those that `spans` leaves out."""

    spans: int
    model_calls: int
    tool_calls: int
    tokens: RunTokens | None
    cost: float | None
    currency: str
    models: Sequence[ModelLine]


def build_span_lines(events: Iterable[Event], limit: int = MAX_SPANS) -> list[SpanLine]:
    """The first `limit` spans, in the order of their starts."""
    found: dict[str, SpanLine] = {}
    for event in events:
        if isinstance(event, SpanStarted) and len(found) < limit:
            found[event.span] = SpanLine(
                event.span, event.kind, event.name, event.at, parent=event.parent, about=event.about
            )
        elif isinstance(event, SpanEnded) and event.span in found:
            found[event.span] = msgspec.structs.replace(
                found[event.span],
                ended=event.at,
                first=event.first,
                usage=event.usage,
                reason=event.reason,
                error=event.error,
            )
    return list(found.values())


def build_totals(history: SpanHistory, prices: Prices) -> TotalsLine:
    totals: RunTotals = history.totals
    models = [
        ModelLine(one.name, one.model, one.calls, count_tokens(one.usage), prices.cost([one])) for one in totals.models
    ]
    return TotalsLine(
        history.started,
        totals.model_calls,
        totals.tool_calls,
        count_tokens(totals.usage),
        prices.cost(totals.models),
        prices.currency,
        models,
    )
