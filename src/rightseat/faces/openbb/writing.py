"""Events of a run → the bytes of an answer.

A status in the middle of a text would split it in two messages, so it waits for the end of the text. A function call is
the last that an answer says; suggestions are the last where there is none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, assert_never

from rightseat.core.errors import BadAsk, PromptTooLong, RightseatError
from rightseat.core.events import (
    AnswerEnded,
    CallDelta,
    CallEnded,
    CallReturned,
    CallStarted,
    Custom,
    Event,
    Interrupt,
    MessagesReplaced,
    RunFailed,
    RunFinished,
    RunStarted,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThoughtDelta,
    ThoughtEnded,
    ThoughtStarted,
)
from rightseat.core.log import Entry
from rightseat.core.messages import Call, Message, Part, Result
from rightseat.faces.openbb import artifacts, events, flows
from rightseat.faces.openbb.citing import Citing
from rightseat.faces.openbb.functions import Step
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.state import Made
from rightseat.faces.openbb.suggesting import OPTION
from rightseat.faces.openbb.thinking import Thoughts
from rightseat.faces.showing import markdown

Asking = Callable[[Sequence[Made], Sequence[Made], Sequence[Message], int], bytes]
"""Writes the function call for an answer of the model: given all of its calls, those of them that the client has to
run, what the server's own tools said before, and how often the model was asked."""

Wait = Callable[[Sequence[Interrupt], Sequence[Message]], str | None]
"""Keeps open questions with the calls and results that led to them, and says how a person answers; None where a person
cannot."""

UNSAID = frozenset({RunStarted, TextStarted, ThoughtStarted, CallEnded, StepEnded, StateReplaced, StateChanged})
"""Events that need no word: the answer begins by itself, a call is written when the run waits for it, and OpenBB knows
no state of an agent."""

NOTHING = "The model gave no answer. Ask again, or in other words."
STOPPED = "\n\nThe answer was stopped."
UNKNOWN = "The agent wants {names}, which Workspace cannot do. Nothing was run."
UNAPPROVED = "{names} would have to be approved by a person first, and Workspace has no way to ask. Nothing was run."
ASKED = "The agent asks: {message} Workspace has no way to answer it, so the agent waits."
CALLED = "\n\n{name} would be called with: {arguments}"


class Writer:
    """Feed it entries, take bytes. It never waits."""

    __slots__ = (
        "_answers",
        "_ask",
        "_before",
        "_calls",
        "_citing",
        "_held",
        "_is_over",
        "_is_plain",
        "_links",
        "_results",
        "_session",
        "_shown",
        "_spoke",
        "_suggestions",
        "_thoughts",
        "_wait_for",
    )

    def __init__(self, session: Session, ask: Asking, wait: Wait | None = None) -> None:
        self._session = session
        self._links: list[str] = []  # to files that were made
        self._ask = ask
        self._wait_for = wait
        self._citing: Citing | None = None
        self._thoughts: Thoughts | None = None
        self._is_plain = not session.sources  # there is nothing to cite, and no marker has begun
        self._spoke = False  # text has been written
        self._shown = False  # something else has
        self._held: list[bytes] = []  # statuses that would split it
        self._suggestions: bytes = b""
        self._calls: dict[str, tuple[str, list[str]]] = {}  # of the model's last answer: name, pieces of the arguments
        self._results: dict[str, Result] = {}
        self._before: list[Message] = []  # calls and results of the answers before it
        self._answers = 0
        self._is_over = False  # the answer that they are of

    def feed(self, entries: Sequence[Entry]) -> bytes | None:
        if len(entries) == 1 and type(event := entries[0].event) is TextDelta:  # nearly every batch
            self._spoke = True
            if self._is_plain and "<" not in event.text:
                return events.CHUNK % events.encode(event.text)
        written: list[bytes] = []
        for entry in entries:
            if type(event := entry.event) not in UNSAID:
                written += self._take(event)
        return b"".join(written) or None

    def _take(self, event: Event) -> Iterator[bytes]:
        match event:
            case TextDelta(text=text):
                yield from self._speak(text)
            case TextEnded():
                yield from self._pause()
            case ThoughtDelta(text=text):
                self._thoughts = self._thoughts or Thoughts()
                yield from self._think(self._thoughts.feed(text))
            case ThoughtEnded():
                yield from self._think(self._thoughts.end() if self._thoughts else ())
            case CallStarted(call_id=id, name=name):
                self._begin_call(id, name)
            case CallDelta(call_id=id, text=text):
                self._calls[id][1].append(text)
            case CallReturned():
                yield from self._returned(event)
            case AnswerEnded(reason=reason):
                yield from self._answered(reason)
            case StepStarted(name=name):
                yield from self._status(events.status(Step(name)))
            case Custom(name=name, value=value):
                yield from self._custom(name, value)
            case RunFinished():
                yield from self._finish(event)
            case RunFailed():
                yield from self._fail(event)
            case RunStarted() | TextStarted() | ThoughtStarted() | CallEnded() | StepEnded():
                pass  # `UNSAID`
            case StateReplaced() | StateChanged():
                pass
            case MessagesReplaced():
                pass  # of durable runs alone; these are not
            case _:
                assert_never(event)

    # Text

    @property
    def _text(self) -> Citing:
        if self._citing is None:
            self._citing = Citing(self._session.sources, self._session.quotes)
        return self._citing

    def _speak(self, text: str) -> Iterator[bytes]:
        self._spoke = True
        if self._is_plain and "<" not in text:
            yield events.chunk(text)
            return
        self._is_plain = False
        yield from self._pieces(self._text.feed(text))

    def _pause(self) -> Iterator[bytes]:
        """The end of one message: nothing of it is held back any longer."""
        if not self._is_plain:
            yield from self._pieces(self._text.rest())

    def _pieces(self, pieces: Sequence[str | list[Any]]) -> Iterator[bytes]:
        for piece in pieces:
            if isinstance(piece, str):
                if piece:
                    yield events.chunk(piece)
            elif not self._session.legacy:
                yield events.citations(piece)

    def _say(self, text: str) -> Iterator[bytes]:
        self._spoke = True
        yield events.chunk(text)

    # Steps

    def _status(self, written: bytes) -> Iterator[bytes]:
        if self._session.legacy:
            return
        if self._spoke:
            self._held.append(written)
        else:
            yield written

    def _think(self, steps: Sequence[str]) -> Iterator[bytes]:
        for step in steps:
            yield from self._status(events.status(Step(step)))

    def _release(self) -> Iterator[bytes]:
        yield from self._held
        self._held = []

    def _custom(self, name: str, value: Any) -> Iterator[bytes]:
        legacy = self._session.legacy
        if name == "openbb.artifact":
            yield from self._artifact(value)
        elif name == "artifact" and isinstance(value, dict):
            yield from self._made_by_flow(value)
        elif name == "flow.step" and isinstance(value, dict):
            yield from self._flow_step(value)
        elif name == "flow.suggestions" and not legacy and self._session.query.is_on(OPTION):
            self._suggestions = events.suggestions(flows.questions(value))
        elif name == "openbb.status":
            yield from self._status(events.written_status(value))
        elif name == "openbb.citations" and not legacy:
            if not self._is_plain:
                self._text.told(value)
            yield events.citations(value)
        elif name == "openbb.suggestions" and not legacy:
            self._suggestions = events.suggestions(value)
        elif name in ("model.warning", "loop.missing"):
            yield from self._status(events.status(Step(str(value)), "WARNING"))
        elif name == "guard.left_out" and isinstance(value, list):
            text = f"Of the earlier messages {len(value)} did not reach the model: a guard denies them."
            yield from self._status(events.status(Step(text), "WARNING"))

    def _artifact(self, value: Mapping[str, Any]) -> Iterator[bytes]:
        yield from self._pause()
        self._shown = True
        yield from self._say(artifacts.markdown(value)) if self._session.legacy else (events.artifact(value),)

    # Flows

    def _made_by_flow(self, value: dict[str, Any]) -> Iterator[bytes]:
        """A chart as Workspace draws it; what it cannot draw, and every file, as a link at the end."""
        if value.get("kind") == "chart":
            name = artifacts.plain(str(value.get("name") or "Chart"))
            try:
                drawn = flows.chart(value, name)
            except BadAsk:
                pass
            else:
                yield from self._artifact(drawn | {"name": self._session.unique(name)})
                return
        self._links.append(markdown(value, self._session.files_url))

    def _flow_step(self, value: dict[str, Any]) -> Iterator[bytes]:
        if found := flows.table(value):
            name = self._session.unique(artifacts.plain(f"Table: {value.get('step', '')}"))
            yield from self._artifact(flows.written("table", name, found, "What a step has found."))
        elif told := flows.step(value):
            step, has_failed = told
            yield from self._status(events.status(step, "WARNING" if has_failed else "INFO"))

    # Calls

    def _begin_call(self, id: str, name: str) -> None:
        if self._is_over:  # the first call of the model's next answer
            self._before = self._so_far()
            self._calls, self._results, self._is_over = {}, {}, False
        self._calls[id] = (name, [])

    def _returned(self, event: CallReturned) -> Iterator[bytes]:
        self._results[event.call_id] = Result(event.call_id, event.name, event.content, event.error)
        if event.error:
            yield from self._status(events.status(Step(f"{event.name} failed", [{"error": event.content}]), "WARNING"))
        elif event.name not in self._session.own_tools:
            yield from self._status(events.status(Step(f"Used {event.name}")))

    def _answered(self, reason: str) -> Iterator[bytes]:
        self._answers += 1
        self._is_over = bool(self._calls)
        if reason == "length":
            yield from self._status(events.status(Step("The answer was cut at the model's limit"), "WARNING"))
        elif reason == "filtered":
            yield from self._status(events.status(Step("The model's provider cut the answer"), "WARNING"))

    # The end

    def _finish(self, event: RunFinished) -> Iterator[bytes]:
        yield from self._pause()
        if self._links:
            links = "\n\n".join(self._links)
            yield from self._say(f"\n\n{links}" if self._spoke else links)
        if event.outcome == "waiting":
            yield from self._wait(event)
            return
        if event.outcome == "cancelled":
            yield from self._say(STOPPED)
        elif not self._spoke and not self._shown:
            yield from self._say(NOTHING)
        elif not self._is_plain:
            yield from self._pieces(self._text.end())
        yield from self._release()
        yield self._suggestions

    def _wait(self, event: RunFinished) -> Iterator[bytes]:
        """The client has to run what the server did not, or a person to answer."""
        if event.interrupts and (text := self._question(event.interrupts)) is not None:
            yield from self._release()
            yield from self._say(f"\n\n{text}" if self._spoke else text)
            return
        if questions := [one.message for one in event.interrupts if one.call_id is None]:
            yield from self._release()
            yield from self._say(ASKED.format(message=" ".join(questions)))
            return
        calls = self._made()
        unapproved = {one.call_id for one in event.interrupts}
        waiting = [one for one in calls if one.id not in self._results]
        known = [one for one in waiting if one.name in self._session.catalogue.functions]
        if unapproved or not known:
            names = ", ".join(one.name for one in waiting if one.id in unapproved or not unapproved)
            yield from self._release()
            yield from self._say((UNAPPROVED if unapproved else UNKNOWN).format(names=names))
            return
        try:
            steps = [self._session.catalogue.announce(call) for call in known]
            asked = self._ask(calls, known, self._said_before(), self._answers)
        except RightseatError as error:  # an agent that is no model of ours may not have been told
            yield from self._release()
            yield from self._say(error.message)
            return
        for step in filter(None, steps):
            yield from self._status(events.status(step))
        yield from self._release()
        yield asked

    def _question(self, asked: Sequence[Interrupt]) -> str | None:
        """What a person reads, and how it is answered."""
        how = self._wait_for(asked, self._so_far()) if self._wait_for else None
        if how is None:
            return None
        known = {one.id: one for one in self._made()}
        lines = [one.message + called(known.get(one.call_id or ""), one) for one in asked]
        return "\n\n".join([*map(as_lines, lines), how])

    def _made(self) -> list[Made]:
        return [Made(id, name, "".join(pieces)) for id, (name, pieces) in self._calls.items()]

    def _said_before(self) -> list[Message]:
        return [*self._before, *(Message("tool", (result,)) for result in self._results.values())]

    def _so_far(self) -> list[Message]:
        """Calls and results, those of the last answer too."""
        calls: tuple[Part, ...] = tuple(Call(one.id, one.name, one.arguments or "{}") for one in self._made())
        made = [Message("assistant", calls)] if calls else []
        return [*self._before, *made, *self._said_before()[len(self._before) :]]

    def _fail(self, event: RunFailed) -> Iterator[bytes]:
        yield from self._pause()
        level = self._level(event)
        message = "The model is unavailable" if event.code.startswith("model_") else "The answer failed"
        if self._spoke:
            yield from self._release()
            yield from self._say(f"\n\n{event.message}")
        else:
            yield from self._status(events.status(Step(message, [{"error": event.message}]), level))
            yield from self._say(event.message)

    def _level(self, event: RunFailed) -> events.Level:
        """At an ERROR Workspace forgets the newest result: right where it was too long, else only if there is none."""
        return "WARNING" if self._session.has_results and event.code != PromptTooLong.code else "ERROR"


def called(call: Made | None, asked: Interrupt) -> str:
    """What would be called, where the question itself does not tell."""
    if call is None or asked.memo is not None:
        return ""
    return CALLED.format(name=call.name, arguments=call.arguments or "{}")


def as_lines(text: str) -> str:
    """Markdown would join the lines of a question."""
    return text.replace("\n- ", "\n\n- ", 1)
