"""Several observers as one. One that fails is noted in the log, and disturbs nobody."""

import logging
from collections.abc import Sequence

from rightseat.core.observing import NOBODY, Attributes, Kind, Observer, Span, Value

logger = logging.getLogger(__name__)


class Several:
    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def begin(self, kind: Kind, name: str, parent: Span | None, attributes: Attributes) -> Span:
        above = parent.spans if isinstance(parent, _Together) else [None] * len(self._observers)
        spans: list[Span] = []
        for observer, one in zip(self._observers, above, strict=True):
            try:
                spans.append(observer.begin(kind, name, one, attributes))
            except Exception:
                logger.exception("an observer failed")
                spans.append(NOBODY)
        return _Together(spans)


class _Together:
    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = spans

    def note(self, **attributes: Value) -> None:
        for span in self.spans:
            try:
                span.note(**attributes)
            except Exception:
                logger.exception("an observer failed")

    def end(self, error: str | None = None) -> None:
        for span in self.spans:
            try:
                span.end(error)
            except Exception:
                logger.exception("an observer failed")
