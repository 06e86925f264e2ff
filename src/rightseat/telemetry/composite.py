"""Combines several observers into one. If one fails, the error is logged and the others continue."""

import logging
from collections.abc import Sequence

from rightseat.core.tracing import NO_OBSERVER, Attributes, AttributeValue, Observer, Span, TraceKind

logger = logging.getLogger(__name__)


class CompositeObserver:
    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def start_span(self, kind: TraceKind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        parents = parent.spans if isinstance(parent, CompositeSpan) else [None] * len(self._observers)
        spans: list[Span] = []
        for observer, parent_span in zip(self._observers, parents, strict=True):
            try:
                spans.append(observer.start_span(kind, name, parent_span, attributes))
            except Exception:
                logger.exception("an observer failed")
                spans.append(NO_OBSERVER)
        return CompositeSpan(spans)


class CompositeSpan:
    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans

    def note(self, **attributes: AttributeValue) -> None:
        for span in self.spans:
            try:
                span.note(**attributes)
            except Exception:
                logger.exception("an observer failed")

    def mark_first_chunk(self) -> None:
        for span in self.spans:
            try:
                span.mark_first_chunk()
            except Exception:
                logger.exception("an observer failed")

    def end(self, error: str | None = None) -> None:
        for span in self.spans:
            try:
                span.end(error)
            except Exception:
                logger.exception("an observer failed")
