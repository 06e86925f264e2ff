"""Runs, made up at random: of our events, in the order that they have, and of AG-UI's, in good order and in bad."""

from collections.abc import Callable
from random import Random
from typing import Any, Literal

from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    ModelResponseEnded,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
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
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
    Usage,
)
from rightseat.core.json_patch import apply_patch
from rightseat.core.messages import File, Image, Message, Result, Text, user
from rightseat.core.stream.reducer import Reducer
from rightseat.core.types import JsonValue

Json = dict[str, Any]
WORDS = ("Hello", " there", "é\n", '{"a":', "1}", "", " ", '"\\', "\u2028", "🦆")
VALUES: tuple[JsonValue, ...] = (None, True, 0, 1.5, "x", [], {}, {"a": [1, {"b": None}]})


def our_run(random: Random) -> list[Event]:
    return OurRun(random).events


class OurRun:
    """A run that keeps the rules of `core.events`."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.count = 0
        self.texts: list[str] = []  # all of them
        self.open: list[tuple[str, str]] = []
        self.calls: dict[str, str] = {}  # that are ended and have no result → their names
        self.state: JsonValue = {}
        self.events: list[Event] = [RunStarted(self.id("run"), "t", "default", "client-run", self.said())]
        steps: list[Callable[[], None]] = [
            *(self.text, self.thought, self.call, self.step, self.answer, self.change, self.replace, self.custom),
            *((self.piece,) * 8 + (self.end,) * 4 + (self.result,) * 2),
        ]
        for _ in range(random.randrange(40)):
            random.choice(steps)()
        while self.open:
            self.end()
        self.finish()

    def id(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def word(self) -> str:
        return self.random.choice(WORDS)

    def say(self, event: Event) -> None:
        self.events.append(event)

    def said(self) -> tuple[Message, ...]:
        messages = (
            user("Hi"),
            Message("user", (Text("Look"), Image("image/png", "AAAA", name="dot.png")), id="u2"),
            Message("user", (File("document", "", "", "http://x/y.pdf"),), id="u3"),
            Message("tool", (Result("earlier", "f", "ok"),), id="u4"),
        )
        return tuple(self.random.sample(messages, self.random.randrange(len(messages))))

    def text(self) -> None:
        known = [text for text in self.texts if ("text", text) not in self.open]
        id = self.random.choice(known) if known and self.random.random() < 0.1 else self.id("m")
        self.texts.append(id)
        self.open.append(("text", id))
        self.say(TextStarted(id))

    def thought(self) -> None:
        self.open.append(("thought", self.id("th")))
        self.say(ReasoningStarted(self.open[-1][1]))

    def call(self) -> None:
        id, name = self.id("c"), self.random.choice(("search", "paint"))
        parent = self.random.choice([None, None, self.id("m"), *self.texts])
        self.open.append((f"call {name}", id))
        if parent is not None:
            self.texts.append(parent)
        self.say(ToolCallStarted(id, name, parent))

    def step(self) -> None:
        self.open.append(("step", self.id("s")))
        self.say(StepStarted(self.open[-1][1]))

    def piece(self) -> None:
        if not self.open:
            return
        kind, id = self.random.choice(self.open)
        makers: dict[str, Callable[[str, str], Event]] = {
            "text": TextDelta,
            "thought": ReasoningDelta,
            "call": ToolCallDelta,
        }
        if kind != "step":
            self.say(makers[kind.split()[0]](id, self.word()))

    def end(self) -> None:
        if not self.open:
            return
        kind, id = self.open.pop(self.random.randrange(len(self.open)))
        whole = self.random.random() < 0.9
        match kind.split():
            case ["text"]:
                self.say(TextEnded(id, whole))
            case ["thought"]:
                self.say(ReasoningEnded(id, whole))
            case ["step"]:
                self.say(StepEnded(id))
            case [_, name]:
                self.calls[id] = name
                self.say(ToolCallEnded(id, whole))

    def result(self) -> None:
        if self.calls:
            id = self.random.choice(list(self.calls))
            named = self.random.choice((None, f"named-{id}"))
            self.say(ToolCallReturned(id, self.calls.pop(id), self.word(), self.random.choice((None, "oops")), named))

    def answer(self) -> None:
        self.say(ModelResponseEnded("stop", self.random.choice((None, Usage(1, 2)))))

    def replace(self) -> None:
        self.state = {"n": self.random.randrange(9), "list": [1, 2], "v": self.random.choice(VALUES)}
        self.say(StateReplaced(self.state))

    def change(self) -> None:
        patch: list[JsonValue] = [{"op": "add", "path": "/n", "value": self.random.choice(VALUES)}]
        if isinstance(self.state, dict) and "list" in self.state:
            patch.append({"op": "add", "path": "/list/-", "value": 3})
            patch.append({"op": "remove", "path": "/list/0"})
        self.state = apply_patch(self.state, patch)
        self.say(StateChanged(patch))

    def custom(self) -> None:
        self.say(Custom(self.random.choice(("acme.done", "on_interrupt")), self.random.choice(VALUES)))

    def finish(self) -> None:
        waiting: Literal["waiting", "done"] = "waiting" if self.calls else "done"
        question = Interrupt("i", "approval_required", "May I?", "c", {"type": "object"}, "2030-01-01T00:00:00Z")
        ends: tuple[Event, ...] = (
            RunFinished(waiting),
            RunFinished(waiting, result={"pages": 3}),
            RunFinished("cancelled"),
            RunFinished("waiting", (question, Interrupt("j", "input_required", ""))),
            RunFailed("model_unreachable", "No answer."),
        )
        self.say(self.random.choice(ends))


def folded(events: list[Event], state: JsonValue = None) -> Reducer:
    reducer = Reducer(state)
    for event in events:
        reducer.add(event)
    return reducer


STARTS = {
    "TEXT_MESSAGE_START": ("messageId", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"),
    "TOOL_CALL_START": ("toolCallId", "TOOL_CALL_ARGS", "TOOL_CALL_END"),
    "REASONING_START": ("messageId", None, "REASONING_END"),
    "REASONING_MESSAGE_START": ("messageId", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END"),
    "STEP_STARTED": ("stepName", None, "STEP_FINISHED"),
    "SUBAGENT_STARTED": ("subagentRunId", None, "SUBAGENT_FINISHED"),
}
IDS = ("a", "b", "")
OWNERS = (None, None, "s1", "s2", "")


def their_run(random: Random) -> list[Json]:
    """One or two runs of a few ids, nearly in order."""
    events = [event for _ in range(random.choice((1, 1, 1, 2))) for event in their_single_run(random)]
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        spoil(events, random)
    return events


def their_single_run(random: Random) -> list[Json]:
    events: list[Json] = [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}]
    if random.random() < 0.3:
        events[0]["input"] = {"messages": [past(random) for _ in range(2)]}
    open: dict[tuple[Any, ...], Json] = {}
    used: set[Any] = set()
    for _ in range(random.randrange(25)):
        kind = random.choice(list(STARTS))
        field, piece, end = STARTS[kind]
        choice = random.random()
        if choice < 0.35:
            event = tagged({"type": kind, field: random.choice(IDS)}, random)
            if kind == "SUBAGENT_STARTED":
                event = {"type": kind, field: random.choice(("s1", "s2", "s3")), "name": "n"}
            if kind == "TOOL_CALL_START":
                event |= {"toolCallName": "f"} | random.choice(({}, {"parentMessageId": random.choice(IDS)}))
            key = (end, event[field], event.get("subagentRunId") if kind == "STEP_STARTED" else None)
            if (key not in open and key not in used) or random.random() < 0.03:
                open[key] = event
                used |= {key} if kind == "SUBAGENT_STARTED" else set()
                events.append(event)
        elif choice < 0.6 and open:
            key = random.choice(list(open))
            opener = open[key]
            field, piece, end = STARTS[opener["type"]]
            of = {"subagentRunId": opener["subagentRunId"]} if "subagentRunId" in opener else {}
            keeps = of if random.random() < 0.8 or opener["type"] == "STEP_STARTED" else {}
            if piece and random.random() < 0.6:
                events.append({"type": piece, field: opener[field], "delta": "x", **keeps})
            else:
                events.append({"type": end, field: opener[field], **keeps})
                open.pop(key)
        elif choice < 0.75:
            events.append(random.choice(LOOSE)(random))
    for (end, id, _), opener in reversed(open.items()):
        of = {"subagentRunId": opener["subagentRunId"]} if "subagentRunId" in opener else {}
        events.append({"type": end, STARTS[opener["type"]][0]: id, **of})
    last: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
    return [*events, random.choice((last, last, {"type": "RUN_ERROR", "message": "no"}))]


def tagged(event: Json, random: Random) -> Json:
    owner = random.choice(OWNERS)
    return event if owner is None else {**event, "subagentRunId": owner}


def past(random: Random) -> Json:
    role = random.choice(("user", "assistant", "reasoning", "activity"))
    message = tagged({"id": random.choice(IDS), "role": role, "content": "past"}, random)
    call = {"id": random.choice(IDS), "type": "function", "function": {"name": "f", "arguments": "{}"}}
    more: dict[str, Json] = {"assistant": {"toolCalls": [call]}, "activity": {"activityType": "P", "content": {}}}
    return message | more.get(role, {})


LOOSE: tuple[Callable[[Random], Json], ...] = (
    lambda random: tagged({"type": "TOOL_CALL_RESULT", "messageId": "a", "toolCallId": "a", "content": "x"}, random),
    lambda random: tagged({"type": "STATE_SNAPSHOT", "snapshot": {}}, random),
    lambda random: tagged({"type": "CUSTOM", "name": "x", "value": 1}, random),
    lambda random: {"type": "MESSAGES_SNAPSHOT", "messages": [past(random)]},
    lambda random: tagged(
        {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "a",
            "activityType": "P",
            "content": {},
            "replace": random.choice((True, False)),
        },
        random,
    ),
    lambda random: tagged({"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "P", "patch": []}, random),
    lambda random: tagged(
        {
            "type": "REASONING_ENCRYPTED_VALUE",
            "entityId": random.choice(IDS),
            "encryptedValue": "x",
            "subtype": random.choice(("message", "tool-call")),
        },
        random,
    ),
    lambda random: {
        "type": "SUBAGENT_STARTED",
        "subagentRunId": random.choice(("s4", "s5")),
        "name": "n",
        **random.choice(({}, {"parentSubagentRunId": random.choice(("s1", "s4"))})),
    },
)


def spoil(events: list[Json], random: Random) -> None:
    place = random.randrange(len(events))
    match random.randrange(4):
        case 0:
            events.pop(place)
        case 1:
            events.insert(random.randrange(len(events)), events[place])
        case 2:
            events.append(events.pop(place))
        case 3:
            events[place] = tagged(events[place], random)
    if not events:
        events.append({"type": "RAW", "event": 1})


def their_chunks(random: Random) -> list[Json]:
    """Chunks of a few messages, between other events."""
    events: list[Json] = [{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}]
    many = range(random.randrange(20))
    events += [tagged(a_chunk(random), random) if random.random() < 0.75 else between(random) for _ in many]
    return [*events, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]


def a_chunk(random: Random) -> Json:
    kind = random.choice(("TEXT_MESSAGE", "TEXT_MESSAGE", "TOOL_CALL", "REASONING_MESSAGE"))
    chunk: Json = {"type": f"{kind}_CHUNK"}
    if random.random() < 0.8:
        chunk["delta"] = random.choice(WORDS)
    if random.random() < 0.2:
        chunk["metadata"] = {"n": 1}
    if random.random() < 0.7:
        id = random.choice(IDS)
        chunk["toolCallId" if kind == "TOOL_CALL" else "messageId"] = id
        more = {
            "TEXT_MESSAGE": {"a": {}, "b": {"name": "Bo"}, "": {"role": "user"}},
            "TOOL_CALL": {"a": {"toolCallName": "f", "parentMessageId": "m"}, "b": {"toolCallName": "g"}, "": {}},
        }
        chunk |= more.get(kind, {}).get(id, {})
    return chunk


def between(random: Random) -> Json:
    kinds: tuple[Json, ...] = (
        {"type": "RAW", "event": 1},
        {"type": "STATE_SNAPSHOT", "snapshot": {}},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "a", "content": "x"},
        {"type": "MESSAGES_SNAPSHOT", "messages": []},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": random.choice(("s1", "s2"))},
        {"type": "STEP_STARTED", "stepName": "x", "subagentRunId": random.choice(("s1", "s2"))},
    )
    return random.choice(kinds)
