"""Helpers for tests: a model with scripted responses, and checks of the order of events."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

from rightseat.core import events as e
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk
from rightseat.limits.model_doubles import PROCESS_DOUBLES

__all__ = ["ScriptedModel", "ScriptedResponse", "calls", "check_order", "check_pairs", "forbid_models", "says"]

ScriptedResponse = Sequence[Chunk | Exception]


class ScriptedModel:
    """A model that returns the given responses in order, and records its prompts.

    An exception in a response is raised at its position. After the last response, the first one follows again.
    """

    is_double = True

    def __init__(self, responses: Iterable[ScriptedResponse] | Callable[[Prompt], ScriptedResponse]) -> None:
        self.prompts: list[Prompt] = []
        self._first = 0
        self._responses = responses if callable(responses) else list(responses)

    def responses(self, *responses: ScriptedResponse) -> None:
        """Return these responses from now on, beginning with the first."""
        self._responses = list(responses)
        self._first = len(self.prompts)

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self.prompts.append(prompt)
        for chunk in self._respond(prompt):
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    def _respond(self, prompt: Prompt) -> ScriptedResponse:
        if callable(self._responses):
            return self._responses(prompt)
        return self._responses[(len(self.prompts) - 1 - self._first) % len(self._responses)]


def says(*pieces: str) -> ScriptedResponse:
    """A response with one text chunk per piece."""
    return [*(TextChunk(piece) for piece in pieces), StopChunk("stop")]


def calls(name: str, arguments: str = "{}", *, id: str = "call_1") -> ScriptedResponse:
    """A response that calls one tool."""
    return [CallChunk(0, "", id, name), CallChunk(0, arguments), StopChunk("tool_calls")]


@contextmanager
def forbid_models() -> Iterator[None]:
    """Let every call of a model fail at once that is neither a `ScriptedModel` nor an override, in all copilots."""
    before, PROCESS_DOUBLES.is_forbidden = PROCESS_DOUBLES.is_forbidden, True
    try:
        yield
    finally:
        PROCESS_DOUBLES.is_forbidden = before


def check_order(events: Iterable[e.Event]) -> None:
    """Check all events of a run against the first three rules of `core.events`. Raises `AssertionError`."""
    first, *between = events
    _check(isinstance(first, e.RunStarted), f"a run begins with {first}")
    _check(bool(between), "a run has no end")
    last = between.pop()
    _check(isinstance(last, e.RunFinished | e.RunFailed), f"a run ends with {last}")
    for event in between:
        _check(not isinstance(event, e.RunStarted | e.RunFinished | e.RunFailed), f"{event} in the middle of a run")
    check_pairs(between)


def check_pairs(events: Iterable[e.Event]) -> None:
    """Check rules 2 and 3 only: for the events of an agent, before the runtime adds the first and the last one."""
    pairs = _Pairs()
    for event in events:
        pairs.add(event)
    pairs.close()


class _Pairs:
    """Tracks open and ended items. An id is used once per kind."""

    def __init__(self) -> None:
        self._open: set[tuple[str, str]] = set()
        self._ended: set[tuple[str, str]] = set()
        self._steps: Counter[str] = Counter()

    def add(self, event: e.Event) -> None:
        match event:
            case e.TextStarted(message_id=id):
                self._start("text", id)
            case e.ReasoningStarted(message_id=id):
                self._start("reasoning", id)
            case e.ToolCallStarted(call_id=id):
                self._start("call", id)
            case e.TextDelta(message_id=id):
                _check(("text", id) in self._open, f"{event} of a text that is not open")
            case e.ReasoningDelta(message_id=id):
                _check(("reasoning", id) in self._open, f"{event} of reasoning that is not open")
            case e.ToolCallDelta(call_id=id):
                _check(("call", id) in self._open, f"{event} of a call that is not open")
            case e.TextEnded(message_id=id):
                self._end("text", id)
            case e.ReasoningEnded(message_id=id):
                self._end("reasoning", id)
            case e.ToolCallEnded(call_id=id):
                self._end("call", id)
            case e.ToolCallReturned(call_id=id):
                _check(("call", id) in self._ended, f"{event} before the end of its call")
                _check(("result", id) not in self._ended, f"{event} for the second time")
                self._ended.add(("result", id))
            case e.StepStarted(name=name):
                self._steps[name] += 1
            case e.StepEnded(name=name):
                _check(self._steps[name] > 0, f"{event} of a step that is not open")
                self._steps[name] -= 1
            case e.SpanStarted(span=id, parent=parent):
                known = self._open | self._ended
                _check(parent is None or ("span", parent) in known, f"{event} before its parent")
                self._start("span", id)
            case e.SpanEnded(span=id):
                self._end("span", id)
            case e.RunStarted() | e.RunFinished() | e.RunFailed() | e.ModelResponseEnded():
                pass  # not one of a pair
            case e.StateReplaced() | e.StateChanged() | e.MessagesReplaced() | e.Custom():
                pass
            case _:
                assert_never(event)

    def close(self) -> None:
        _check(not self._open, f"still open at the end: {sorted(self._open)}")
        _check(not +self._steps, f"steps still open at the end: {sorted(+self._steps)}")

    def _start(self, kind: str, id: str) -> None:
        _check((kind, id) not in self._open | self._ended, f"a second {kind} {id!r}")
        self._open.add((kind, id))

    def _end(self, kind: str, id: str) -> None:
        _check((kind, id) in self._open, f"the end of a {kind} {id!r} that is not open")
        self._open.remove((kind, id))
        self._ended.add((kind, id))


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
