"""An agent between its guards: what they deny is not asked, shown or done; one that fails lets nothing pass."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
import pytest

from rightseat.core.ask import Ask
from rightseat.core.engine import Steps as StepsLike
from rightseat.core.errors import AgentError, GuardDenied, GuardFailed
from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    MessagesReplaced,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    RunFailed,
    RunFinished,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.guard import BaseGuard, Guard, TextFilter, question_text
from rightseat.core.guards.pipeline import NO_LOGPROBS, GuardedAgent
from rightseat.core.messages import Call, Image, Message, Result, Text, assistant, system, user
from rightseat.core.types import JsonValue
from rightseat.guards.patterns import Options, build
from tests.conditions import counting_turns
from tests.core.loop.test_agent_loop import Steps


class Says:
    """An agent that says these events, and how far it came."""

    description = ""

    def __init__(self, *events: Event) -> None:
        self._events = events
        self.said = 0

    async def run(self, ask: Ask, steps: StepsLike) -> AsyncIterator[Event]:
        for event in self._events:
            self.said += 1
            yield event


class NoXyz(BaseGuard):
    """Denies `xyz`, in questions, answers and calls. It holds a text back until it is over."""

    name = "no-xyz"
    checks_calls = True

    def __init__(self) -> None:
        self.held = ""

    async def check_question(self, ask: Ask) -> None:
        self.judge(question_text(ask))

    async def check_call(self, ask: Ask, call: Call) -> None:
        if call.name == "rm":
            raise GuardDenied("Nothing is removed here.")

    def make_text_filter(self, ask: Ask) -> TextFilter | None:
        return NoXyz()

    async def add(self, text: str) -> str:
        self.held += text
        return ""

    async def end(self) -> str:
        self.judge(self.held)
        return self.held

    def judge(self, text: str) -> None:
        if "xyz" in text:
            raise GuardDenied("No xyz.")


class Broken(BaseGuard):
    name = "broken"

    async def check_question(self, ask: Ask) -> None:
        raise OSError("The disk is gone.")


class Silent(BaseGuard):
    name = "silent"

    async def check_question(self, ask: Ask) -> None:
        await asyncio.Event().wait()


class Watching(BaseGuard):
    """Fails when it is given a piece of a text, or the end of it."""

    name = "watching"

    def __init__(self, at: str, fault: str) -> None:
        self._at = at
        self._fault = fault

    def make_text_filter(self, ask: Ask) -> TextFilter | None:
        return self

    async def add(self, text: str) -> str:
        return await self._fail("add")

    async def end(self) -> str:
        return await self._fail("end")

    async def _fail(self, at: str) -> str:
        if at == self._at and self._fault == "raise":
            raise OSError("The disk is gone.")
        if at == self._at:
            await asyncio.Event().wait()
        return ""


class Fails(Says):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def run(self, ask: Ask, steps: StepsLike) -> AsyncIterator[Event]:
        yield TextStarted("m")
        raise self._error


ASK = Ask(messages=(user("Hi"),))


async def hear(agent: Says, *guards: Guard, ask: Ask = ASK) -> tuple[list[Event], Exception | None]:
    """What gets through, and how it ended."""
    events: list[Event] = []
    try:
        async for event in GuardedAgent(agent, guards or (NoXyz(),), timeout=0.2).run(ask, Steps()):
            events.append(event)  # noqa: PERF401  # what was said before it failed is wanted too
    except (GuardDenied, GuardFailed) as error:
        return events, error
    return events, None


def denied(at: str, reason: str = "No xyz.") -> Custom:
    return Custom("guard.denied", {"guard": "no-xyz", "at": at, "reason": reason})


async def test_a_denied_question_does_not_reach_the_agent() -> None:
    agent = Says(TextStarted("m"))

    events, error = await hear(agent, ask=Ask(messages=(user("about xyz"),)))

    assert (events, str(error), agent.said) == ([denied("question")], "No xyz.", 0)


async def test_the_application_and_the_agent_are_not_judged_as_questions() -> None:
    asked = Ask(messages=(system("xyz"), user("Hi"), assistant("xyz"), user("And now?")))

    assert question_text(asked) == "And now?"
    assert await hear(Says(), ask=asked) == ([], None)


class Hears(Says):
    """An agent that keeps what it was asked."""

    async def run(self, ask: Ask, steps: StepsLike) -> AsyncIterator[Event]:
        self.asked = [message.text for message in ask.messages]
        async for event in super().run(ask, steps):
            yield event


async def test_a_denied_question_does_not_stand_in_the_way_of_the_next() -> None:
    """A client sends it again, because nobody has answered it."""
    agent = Hears()
    denied_one, next_one = user("about xyz"), user("And now?")

    events, error = await hear(agent, ask=Ask(messages=(system("Be kind."), denied_one, next_one)))

    assert (events, error) == ([Custom("guard.messages_removed", [denied_one.id])], None)
    assert agent.asked == ["Be kind.", "And now?"]


async def test_the_agent_gets_both_of_two_questions_that_pass_together() -> None:
    agent = Hears()

    await hear(agent, ask=Ask(messages=(user("One."), user("Two."))))

    assert agent.asked == ["One.", "Two."]


async def test_a_text_is_shown_once_it_was_judged() -> None:
    text = (TextStarted("m"), TextDelta("m", "a"), TextDelta("m", "b"), TextEnded("m"))

    assert await hear(Says(*text)) == ([TextStarted("m"), TextDelta("m", "ab"), TextEnded("m")], None)


async def test_a_text_that_is_denied_stops_the_agent() -> None:
    agent = Says(TextStarted("m"), TextDelta("m", "xy"), TextDelta("m", "z"), TextEnded("m"), TextStarted("n"))

    events, error = await hear(agent)

    assert events == [TextStarted("m"), denied("answer")]
    assert isinstance(error, GuardDenied)
    assert agent.said == 4


CALL = (
    ToolCallStarted("c", "show"),
    ToolCallDelta("c", '{"text": '),
    ToolCallDelta("c", '"fine"}'),
    ToolCallEnded("c"),
)


async def test_a_call_is_held_until_it_is_whole() -> None:
    assert await hear(Says(*CALL)) == ([*CALL], None)
    assert await hear(Says(*CALL[:3])) == ([], None)


async def test_a_call_that_no_guard_checks_passes_delta_by_delta() -> None:
    assert await hear(Says(*CALL[:3]), BaseGuard()) == ([*CALL[:3]], None)


@pytest.mark.parametrize("arguments", ['{"text": "xyz"}', '{"text": "x\\u0079z"}', '{"a": [{"xyz": 1}]}', "xyz"])
async def test_a_call_is_judged_by_what_its_arguments_mean(arguments: str) -> None:
    events, error = await hear(Says(ToolCallStarted("c", "show"), ToolCallDelta("c", arguments), ToolCallEnded("c")))

    assert (events, str(error)) == ([denied("call")], "No xyz.")


async def test_a_guard_may_deny_a_tool() -> None:
    events, error = await hear(Says(ToolCallStarted("c", "rm"), ToolCallEnded("c")))

    assert (events, str(error)) == ([denied("call", "Nothing is removed here.")], "Nothing is removed here.")


@pytest.mark.parametrize(
    "event",
    [
        ToolCallReturned("c", "show", "xyz"),
        ToolCallReturned("c", "show", '{"a": "x\\u0079z"}'),
        StateReplaced({"a": [{"b": "xyz"}]}),
        StateChanged([{"op": "add", "path": "/xyz", "value": 1}]),
        Custom("acme.note", {"xyz": 1}),
        MessagesReplaced((), (assistant("xyz"),)),
        MessagesReplaced((assistant("xyz"),), ()),
        MessagesReplaced((), (user("xyz"),)),
        MessagesReplaced((), (Message("assistant", (Text("a"),), "m", {"agui": {"name": "xyz"}}),)),
        MessagesReplaced((), (Message("tool", (Result("c", "show", '"x\\u0079z"'),)),)),
        MessagesReplaced((), (Message("assistant", (Image("image/png", "", "https://a/xyz.png"),)),)),
        RunFinished("waiting", (Interrupt("i", "why", "xyz?"),)),
        RunFinished("waiting", (Interrupt("i", "xyz", "Really?"),)),
        RunFinished("waiting", (Interrupt("xyz", "why", "Really?"),)),
        RunFinished("done", result={"a": "xyz"}),
        RunFailed("agent_failed", "No xyz today."),
        TextStarted("xyz"),
        ReasoningStarted("xyz"),
        StepStarted("xyz"),
        StepEnded("xyz"),
        Custom("xyz", 1),
        ToolCallReturned("xyz", "show", ""),
        ToolCallReturned("c", "xyz", ""),
        ToolCallReturned("c", "show", "", message_id="xyz"),
    ],
)
async def test_denied_text_is_found_in_every_field_of_every_event(event: Event) -> None:
    events, error = await hear(Says(event))

    assert (events, str(error)) == ([denied("answer")], "No xyz.")


NOT_TEXT_OF_THE_AGENT = {
    "SpanStarted": "written by the runtime",
    "SpanEnded": "written by the runtime",
    "RunStarted": "written by the runtime, outside of the guards",
    "Interrupt.call_id": "the id of a call that was judged before",
    "Interrupt.expires_at": "a time",
    "Interrupt.memo": "never sent to a client",
    "Interrupt.subject": "for the audit log alone",
    "Image.media_type": "not shown to people",
    "Image.data": "base64",
    "File.media_type": "not shown to people",
    "File.data": "base64",
}


def events_with_text(kind: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Values of a type, each with `xyz` in one place, and a name for that place. A new event is found by its fields."""
    if kind is Any or kind is str:
        yield path, "xyz"
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for field in msgspec.structs.fields(kind):
            place = f"{kind.__name__}.{field.name}"
            if not {kind.__name__, place} & NOT_TEXT_OF_THE_AGENT.keys():
                for name, value in events_with_text(field.type, f"{path} {place}".strip()):
                    yield name, kind(**(plain_fields(kind) | {field.name: value}))
    elif get_origin(kind) in (tuple, list):
        for name, value in events_with_text(get_args(kind)[0], path):
            yield name, get_origin(kind)((value,))
    elif get_origin(kind) is dict:
        for name, value in events_with_text(get_args(kind)[1], path):
            yield name, {"de": value}
    elif get_origin(kind) in (UnionType, Union):
        for one in get_args(kind):
            yield from events_with_text(one, path)
    else:
        assert kind in (bool, int, NoneType) or get_origin(kind) is Literal, f"Does {path} hold text?"


def plain_fields(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: plain_value(field.type) for field in msgspec.structs.fields(kind) if field.required}


def plain_value(kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    return get_origin(kind)() if get_origin(kind) in (tuple, list) else "a"


def in_its_place(event: Event) -> list[Event]:
    """The event within the text, the thought or the call that it belongs to."""
    match event:
        case TextDelta(message_id=id) | TextEnded(message_id=id):
            return [TextStarted(id), event, TextEnded(id)]
        case ReasoningDelta(message_id=id) | ReasoningEnded(message_id=id):
            return [ReasoningStarted(id), event, ReasoningEnded(id)]
        case ToolCallStarted(call_id=id):
            return [event, ToolCallEnded(id)]
        case ToolCallDelta(call_id=id) | ToolCallEnded(call_id=id):
            return [ToolCallStarted(id, "show"), event, ToolCallEnded(id)]
    return [event]


TEXTS = dict(events_with_text(Event))


@pytest.mark.parametrize("place", TEXTS)
async def test_every_text_of_every_event_is_judged(place: str) -> None:
    events, error = await hear(Says(*in_its_place(TEXTS[place])))

    assert str(error) == "No xyz."
    assert b"xyz" not in msgspec.json.encode(events[:-1])


async def test_it_is_found_in_the_id_of_a_call() -> None:
    events, _ = await hear(Says(ToolCallStarted("xyz", "show"), ToolCallEnded("xyz")))

    assert events == [denied("call")]


async def test_it_is_found_in_pieces_that_are_no_text_of_ours() -> None:
    """An agent may stream what the protocol has no event of ours for, such as a text of another role."""
    first, second = (Custom("agui.TEXT", {"messageId": "m", "delta": delta}) for delta in ("a xy", "z"))

    events, _ = await hear(Says(first, second))

    assert events == [first, denied("answer")]


class Counts(BaseGuard):
    """Lets everything pass, and counts the characters that it is given."""

    name = "counts"
    count = 0

    def make_text_filter(self, ask: Ask) -> TextFilter | None:
        return self

    async def add(self, text: str) -> str:
        self.count += len(text)
        return text

    async def end(self) -> str:
        return ""


async def test_it_is_found_in_pieces_of_one_event_alone_and_together() -> None:
    ways: list[JsonValue] = [["a xy", "z b"], ["xyz", "a"], ["a", "xyz"], {"b": [["x", "y"], "z"]}]
    for delta in ways:
        events, _ = await hear(Says(Custom("agui.TEXT", {"delta": delta})))
        assert events == [denied("answer")]


async def test_an_event_of_many_short_texts_is_judged_a_few_times_and_no_more() -> None:
    guard = Counts()

    await hear(Says(Custom("acme.note", {"words": ["abc"] * 10_000})), guard)

    assert guard.count < 200_000


async def test_it_is_found_across_two_texts_that_a_client_shows_as_one() -> None:
    guard = build(Options(phrases=("secret plan",)), None)  # type: ignore[arg-type]  # it asks for no parts
    agent = Says(
        *(TextStarted("m"), TextDelta("m", "Our secret"), TextEnded("m")),
        *(TextStarted("n"), TextDelta("n", "plan."), TextEnded("n")),
    )

    events, error = await hear(agent, guard)

    assert isinstance(error, GuardDenied)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Our secret"


def thought(id: str, *pieces: str) -> list[Event]:
    return [ReasoningStarted(id), *(ReasoningDelta(id, piece) for piece in pieces), ReasoningEnded(id)]


def text(id: str, *pieces: str) -> list[Event]:
    return [TextStarted(id), *(TextDelta(id, piece) for piece in pieces), TextEnded(id)]


def shown(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta | ReasoningDelta))


SPLIT: dict[str, list[Event]] = {
    "thought and text": [*thought("t", "our secret"), *text("m", "plan, ", "of course")],
    "text and thought": [*text("m", "our secret"), *thought("t", "plan")],
    "at a letter": [*thought("t", "our sec"), *text("m", "ret plan")],
    "one by one": [*thought("t", *"our secret"), *text("m", *" plan.")],
    "with blanks between": [*thought("t", "our secret", " " * 999), *text("m", "\n\u200b" * 999, "plan")],
    "two thoughts": [*thought("t", "our secret"), *thought("u", "plan")],
    "texts around a thought": [*text("m", "our secret"), *thought("t", "Hm."), *text("n", "plan")],
    "thoughts inside of a text": [
        TextStarted("m"),
        TextDelta("m", "our secret"),
        *thought("t", "plan"),
        TextEnded("m"),
    ],
    "a text that goes on": [
        *(TextStarted("m"), TextDelta("m", "So: "), *thought("t", "our secret")),
        *(TextDelta("m", "plan"), TextEnded("m")),
    ],
}


@pytest.mark.parametrize("way", SPLIT)
async def test_it_is_found_where_it_is_split_between_thoughts_and_texts(way: str) -> None:
    guard = build(Options(phrases=("secret plan",)), None)  # type: ignore[arg-type]  # it asks for no parts

    events, error = await hear(Says(*SPLIT[way]), guard)

    assert isinstance(error, GuardDenied)
    assert error.guard == "patterns"
    assert not {"plan", "ret plan"} & set(shown(events).split())
    assert events[-1] == Custom("guard.denied", {"guard": "patterns", "at": "answer", "reason": str(error)})


async def test_thoughts_and_texts_that_are_not_denied_are_shown_whole() -> None:
    said = [
        *thought("t", "our", " secret"),
        *text("m", "planet", " is", " far"),
        *thought("u", "plan"),
        *text("n", "B"),
    ]
    guard = build(Options(phrases=("secret plan",)), None)  # type: ignore[arg-type]  # it asks for no parts

    events, error = await hear(Says(*said), guard)

    assert error is None
    assert shown(events) == "our secretplanet is farplanB"


async def test_the_event_loop_gets_its_turn_while_an_answer_is_judged() -> None:
    guard = build(Options(phrases=("secret plan",)), None)  # type: ignore[arg-type]  # it asks for no parts

    for pieces in (["word " * 8000], ["word "] * 8000):
        async with counting_turns() as counter:
            await hear(Says(*text("m", *pieces), ToolCallReturned("c", "show", "word " * 8000)), guard)
        assert counter.turns > 60


async def test_a_text_behind_another_is_shown_whole() -> None:
    texts = ("Our secret", "planet", "is far away.")
    said = [event for id in texts for event in (TextStarted(id), TextDelta(id, id), TextEnded(id))]
    guard = build(Options(phrases=("secret plan",)), None)  # type: ignore[arg-type]  # it asks for no parts

    events, error = await hear(Says(*said), guard)

    assert error is None
    assert "|".join(event.text for event in events if isinstance(event, TextDelta)).replace("|", "") == "".join(texts)


async def test_what_the_client_sent_may_come_back_to_it() -> None:
    ask = Ask(messages=(assistant("xyz"), user("Hi")), state={"mail": "a xyz"})
    told = StateReplaced({"mail": "a xyz"})

    assert await hear(Says(told), ask=ask) == ([told], None)
    assert (await hear(Says(StateReplaced({"mail": "b xyz"})), ask=ask))[0] == [denied("answer")]


async def test_the_words_of_an_error_are_judged() -> None:
    events, error = await hear(Fails(AgentError("There is no xyz.")))

    assert (events, str(error)) == ([TextStarted("m"), denied("answer")], "No xyz.")


async def test_an_error_without_denied_text_is_raised_unchanged() -> None:
    with pytest.raises(AgentError, match="nowhere"):
        await hear(Fails(AgentError("It is nowhere.")))


@pytest.mark.parametrize("at", ["add", "end"])
@pytest.mark.parametrize(("fault", "why"), [("raise", "failed"), ("hang", "timed out")])
async def test_a_guard_that_fails_while_it_watches_ends_the_run(at: str, fault: str, why: str) -> None:
    agent = Says(TextStarted("m"), TextDelta("m", "Hello"), TextEnded("m"))

    async with asyncio.timeout(30):
        events, error = await hear(agent, Watching(at, fault))

    assert isinstance(error, GuardFailed)
    assert why in error.message
    assert not any(isinstance(event, TextDelta) for event in events)


async def test_logprobs_are_replaced_by_a_warning() -> None:
    said = Custom("model.logprobs", [{"token": "x"}])

    assert await hear(Says(said)) == ([Custom("model.warning", NO_LOGPROBS)], None)
    assert await hear(Says(said), BaseGuard()) == ([said], None)


@pytest.mark.parametrize(("guard", "why"), [(Broken(), "failed"), (Silent(), "timed out")])
async def test_a_guard_that_fails_lets_nothing_pass(guard: Guard, why: str) -> None:
    agent = Says(TextStarted("m"))

    events, error = await hear(agent, guard)

    assert (events, agent.said) == ([], 0)
    assert isinstance(error, GuardFailed)
    assert why in error.message
    assert guard.name in error.message
    assert "disk" not in error.message
