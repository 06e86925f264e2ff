"""The order of events that AG-UI's clients insist on, as `verifyEvents` of `@ag-ui/client` has it.

1. A run begins with RUN_STARTED; RUN_ERROR may come at any time. After its end only another run may begin.
2. What starts ends before RUN_FINISHED, and is not started again before that: texts, calls, steps, subagents, and for
   1.0 also thoughts and their blocks. Pieces come between.
3. What one subagent has begun is not continued in the name of another. An event without a name is always welcome.
4. A subagent runs once, and under a parent that has been there.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Literal

from rightseat.wire.agui.chunks import BadEvent
from rightseat.wire.agui.versions import Json, Version

Bucket = Literal["message", "call", "activity", "reasoning"]


class BadOrder(BadEvent):
    """An event that may not come here."""


def check(events: Iterable[Json], version: Version = "1.0") -> None:
    """Raises `BadOrder` at the first event that a client of that version would refuse."""
    order = Order(version)
    for event in events:
        order.see(event)


STARTS: dict[str, tuple[str, str, Bucket]] = {
    "TEXT_MESSAGE_START": ("messageId", "text", "message"),
    "TOOL_CALL_START": ("toolCallId", "call", "call"),
    "REASONING_START": ("messageId", "block", "reasoning"),
    "REASONING_MESSAGE_START": ("messageId", "thought", "reasoning"),
}
PIECES: dict[str, tuple[str, str, Bucket]] = {
    "TEXT_MESSAGE_CONTENT": STARTS["TEXT_MESSAGE_START"],
    "TOOL_CALL_ARGS": STARTS["TOOL_CALL_START"],
    "REASONING_MESSAGE_CONTENT": STARTS["REASONING_MESSAGE_START"],
}
ENDS: dict[str, tuple[str, str, Bucket]] = {
    "TEXT_MESSAGE_END": STARTS["TEXT_MESSAGE_START"],
    "TOOL_CALL_END": STARTS["TOOL_CALL_START"],
    "REASONING_MESSAGE_END": STARTS["REASONING_MESSAGE_START"],
    "REASONING_END": STARTS["REASONING_START"],
}
UNCHECKED = {"0.0.59": ("thought", "block"), "1.0": ()}
"""What that version's clients let begin and end as it likes."""


class Order:
    """Show it events; it raises `BadOrder`."""

    def __init__(self, version: Version = "1.0") -> None:
        self._unchecked = UNCHECKED[version]
        self._stage: Literal["nothing", "running", "finished", "failed"] = "nothing"
        self._begin()

    def _begin(self) -> None:
        self._open: dict[str, set[Any]] = defaultdict(set)
        self._owners: dict[str, dict[Any, Any]] = defaultdict(dict)  # kept after the end: a tag may follow
        self._over: set[Any] = set()  # subagents that have ended

    def see(self, event: Json) -> None:
        kind = event["type"]
        self._run(kind)
        if event.get("subagentRunId", "") is None:
            raise BadOrder(f"{kind} says null for `subagentRunId`; it is left out where there is none.")
        if kind in STARTS:
            self._start(event, *STARTS[kind])
        elif kind in PIECES:
            self._continue(event, *PIECES[kind])
        elif kind in ENDS:
            self._continue(event, *ENDS[kind])
            field, what, _ = ENDS[kind]
            self._open[what].discard(event.get(field))
        else:
            self._other(kind, event)

    def _run(self, kind: str) -> None:
        match self._stage, kind:
            case "nothing", "RUN_STARTED" | "RUN_ERROR":
                pass
            case "nothing", _:
                raise BadOrder(f"{kind} comes first; RUN_STARTED must.")
            case "running", "RUN_STARTED":
                raise BadOrder("RUN_STARTED comes while a run is going on.")
            case "finished" | "failed", "RUN_STARTED":
                self._begin()
            case ("finished", "RUN_ERROR") | ("running", _):
                pass
            case stage, _:
                raise BadOrder(f"{kind} comes after the run has {stage}.")

    def _start(self, event: Json, field: str, what: str, bucket: Bucket) -> None:
        id, tag = event.get(field), event.get("subagentRunId")
        if id in self._open[what] and what not in self._unchecked:
            raise BadOrder(f"{event['type']} begins {what} {id!r}, which has begun already.")
        owner = self._owner_of_call(event) if bucket == "call" else tag
        self._agree(event, bucket, id)
        self._open[what].add(id)
        self._owners[bucket].setdefault(id, owner)

    def _continue(self, event: Json, field: str, what: str, bucket: Bucket) -> None:
        id = event.get(field)
        if id not in self._open[what] and what not in self._unchecked:
            raise BadOrder(f"{event['type']} is of {what} {id!r}, which has not begun.")
        self._agree(event, bucket, id)

    def _owner_of_call(self, event: Json) -> Any:
        """A call is in a message, and belongs to whoever that belongs to."""
        tag, parent, id = event.get("subagentRunId"), event.get("parentMessageId"), event.get("toolCallId")
        if parent is None or parent not in self._owners["message"]:
            return tag
        owner = self._owners["message"][parent]
        if tag is not None:
            self._agree(event, "message", parent)
        elif self._owners["call"].get(id, owner) != owner:
            raise BadOrder(f"Call {id!r} is begun again in message {parent!r}, which belongs to another.")
        return owner

    def _agree(self, event: Json, bucket: str, id: Any) -> None:
        tag = event.get("subagentRunId")
        if tag is not None and id in self._owners[bucket] and self._owners[bucket][id] != tag:
            owner = self._owners[bucket][id]
            raise BadOrder(f"{event['type']} says subagent {tag!r} of {id!r}, which belongs to {owner!r}.")

    def _other(self, kind: str, event: Json) -> None:
        id, tag = event.get("messageId"), event.get("subagentRunId")
        match kind:
            case "TOOL_CALL_RESULT":
                self._owners["message"][id] = tag
            case "ACTIVITY_SNAPSHOT":
                if id not in self._owners["activity"] or event.get("replace") is not False:
                    self._owners["activity"][id] = tag
            case "ACTIVITY_DELTA":
                self._agree(event, "activity", id)
            case "REASONING_ENCRYPTED_VALUE":
                self._encrypted(event)
            case "STEP_STARTED" | "STEP_FINISHED":
                self._step(kind, (tag, event.get("stepName")))
            case "SUBAGENT_STARTED":
                self._begin_subagent(tag, event.get("parentSubagentRunId"))
            case "SUBAGENT_FINISHED" | "SUBAGENT_ERROR":
                if tag is None or tag not in self._open["subagent"]:
                    raise BadOrder(f"{kind} is of subagent {tag!r}, which does not run.")
                self._open["subagent"].discard(tag)
                self._over.add(tag)
            case "MESSAGES_SNAPSHOT":
                self._seed(event.get("messages"), anew=True)
            case "RUN_STARTED":
                self._stage = "running"
                self._seed((event.get("input") or {}).get("messages"), anew=False)
            case "RUN_FINISHED":
                left = {what: ids for what, ids in self._open.items() if ids and what not in self._unchecked}
                for what, ids in left.items():
                    raise BadOrder(f"RUN_FINISHED comes before the end of {what} {', '.join(map(str, ids))}.")
                self._stage = "finished"
            case "RUN_ERROR":
                self._stage = "failed"

    def _encrypted(self, event: Json) -> None:
        id = event.get("entityId")
        match event.get("subtype"):
            case "tool-call":
                self._agree(event, "call", id)
            case "message":
                self._agree(event, "message" if id in self._owners["message"] else "reasoning", id)
            case _:
                self._agree(event, "reasoning", id)

    def _step(self, kind: str, step: tuple[Any, Any]) -> None:
        if (step in self._open["step"]) == (kind == "STEP_STARTED"):
            raise BadOrder(
                f"{kind} of step {step[1]!r}, which {'runs already' if step in self._open['step'] else 'does not run'}."
            )
        (self._open["step"].add if kind == "STEP_STARTED" else self._open["step"].discard)(step)

    def _begin_subagent(self, id: Any, parent: Any) -> None:
        running = self._open["subagent"]
        if id is None or id in running or id in self._over:
            raise BadOrder(f"SUBAGENT_STARTED of subagent {id!r}: each has an id of its own, and runs once.")
        if parent is not None and parent not in running and parent not in self._over:
            raise BadOrder(f"SUBAGENT_STARTED of subagent {id!r} under {parent!r}, which was never there.")
        running.add(id)

    def _seed(self, messages: Any, *, anew: bool) -> None:
        """Messages of the past have owners too. A snapshot says them anew, a run's input only what is not known."""
        for message in messages or ():
            tag, role = message.get("subagentRunId"), message.get("role")
            bucket = role if role in ("reasoning", "activity") else "message"
            owned = [
                (bucket, message.get("id")),
                *(("call", call.get("id")) for call in message.get("toolCalls") or ()),
            ]
            for bucket, id in owned:
                if anew or id not in self._owners[bucket]:
                    self._owners[bucket][id] = tag
