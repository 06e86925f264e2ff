"""Parts for tests, yours and ours: a model that says what it is told to, and a check of what a run said."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from rightseat.core.events import (
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Event,
    RunFailed,
    RunFinished,
    RunStarted,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk

Answer = Sequence[Chunk | Exception]


class ScriptedModel:
    """A model, small and obedient: it gives its answers one after another, and remembers what it was asked.

    An exception in an answer is raised at its place. After the last answer it starts again from the first.
    """

    def __init__(self, answers: Iterable[Answer] | Callable[[Prompt], Answer]) -> None:
        self.prompts: list[Prompt] = []
        self._answers = answers if callable(answers) else list(answers)

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self.prompts.append(prompt)
        for chunk in self._answer(prompt):
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    def _answer(self, prompt: Prompt) -> Answer:
        if callable(self._answers):
            return self._answers(prompt)
        return self._answers[(len(self.prompts) - 1) % len(self._answers)]


def says(*pieces: str) -> Answer:
    """An answer in words, piece by piece."""
    return [*(TextChunk(piece) for piece in pieces), StopChunk("stop")]


def calls(name: str, arguments: str = "{}", *, id: str = "call_1") -> Answer:
    """An answer that calls one tool."""
    return [CallChunk(0, "", id, name), CallChunk(0, arguments), StopChunk("calls")]


def check_order(events: Iterable[Event]) -> None:
    """Hold a whole run against the first three rules of `core.events`. Raises `AssertionError` where it breaks one."""
    first, *between = events
    _check(isinstance(first, RunStarted), f"a run begins with {first}")
    _check(bool(between), "a run has no end")
    last = between.pop()
    _check(isinstance(last, RunFinished | RunFailed), f"a run ends with {last}")
    for event in between:
        _check(not isinstance(event, RunStarted | RunFinished | RunFailed), f"{event} in the middle of a run")
    check_pairs(between)


def check_pairs(events: Iterable[Event]) -> None:
    """Rules 2 and 3 alone: for what an agent says, before the runtime puts a beginning and an end to it."""
    pairs = _Pairs()
    for event in events:
        pairs.add(event)
    pairs.close()


class _Pairs:
    """What is open, and what was: an id is used once for each kind of thing."""

    def __init__(self) -> None:
        self._open: set[tuple[str, str]] = set()
        self._ended: set[tuple[str, str]] = set()
        self._steps: Counter[str] = Counter()

    def add(self, event: Event) -> None:
        match event:
            case TextStarted(message_id=id):
                self._start("text", id)
            case ThoughtStarted(message_id=id):
                self._start("thought", id)
            case CallStarted(call_id=id):
                self._start("call", id)
            case TextDelta(message_id=id):
                _check(("text", id) in self._open, f"{event} of a text that is not open")
            case ThoughtDelta(message_id=id):
                _check(("thought", id) in self._open, f"{event} of a thought that is not open")
            case CallDelta(call_id=id):
                _check(("call", id) in self._open, f"{event} of a call that is not open")
            case TextEnded(message_id=id):
                self._end("text", id)
            case ThoughtEnded(message_id=id):
                self._end("thought", id)
            case CallEnded(call_id=id):
                self._end("call", id)
            case CallReturned(call_id=id):
                _check(("call", id) in self._ended, f"{event} before the end of its call")
                _check(("result", id) not in self._ended, f"{event} for the second time")
                self._ended.add(("result", id))
            case StepStarted(name=name):
                self._steps[name] += 1
            case StepEnded(name=name):
                _check(self._steps[name] > 0, f"{event} of a step that is not open")
                self._steps[name] -= 1
            case _:
                pass  # a fact without a beginning and an end

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
