"""Converts a LangGraph stream in the modes `messages-tuple`, `values`, `updates` and `custom` to rightseat events."""

from collections.abc import Iterator, Sequence
from typing import Any

from rightseat.core.ask import Ask
from rightseat.core.events import Custom, Event, Interrupt, RunFailed, StateReplaced, StepEnded, StepStarted
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Message, Result
from rightseat.wire.langchain import ChunkDecoder, encode, write_message

Json = dict[str, Any]
MODES = ("messages-tuple", "values", "updates", "custom")
KIND = "langgraph"
REFUSED: Json = {"cancelled": True}
"""Return value of the graph's `interrupt()` if the user cancelled."""


class LangGraphDecoder:
    """Decodes one run. `interrupts` collects its interrupts.

    `before` are the messages of the graph's thread and `sent` those of the ask; neither becomes events again.
    """

    def __init__(self, before: Sequence[Any] = (), sent: Sequence[Message] = ()) -> None:
        self._chunks = ChunkDecoder()
        self._chunks.emitted_ids |= {id for message in sent for id in ids_of(message)}.union(ids_in(before))
        self._node: str | None = None
        self._rules: list[Any] = []  # from which a client can predict the state
        self.interrupts: list[Interrupt] = []

    def read(self, mode: str, data: Any) -> Iterator[Event]:
        mode = mode.partition("|")[0]  # followed by the subgraph
        match mode, data:
            case "messages", [dict(message), *more]:
                yield from self._message(message, more[0] if more and isinstance(more[0], dict) else {})
            case "values", dict(values):
                yield from self._values(values)
            case "updates", dict(updates):
                yield from self._updates(updates)
            case "custom", value:
                yield Custom("langgraph.custom", value)
            case "error", problem:
                yield RunFailed("agent_failed", read_error(problem))

    def _message(self, message: Json, metadata: Json) -> Iterator[Event]:
        yield from self._enter(metadata.get("langgraph_node"))
        rules = metadata.get("copilotkit:emit-intermediate-state") or metadata.get("predict_state")
        if isinstance(rules, list) and rules != self._rules:
            self._rules = rules
            yield Custom("PredictState", rules)
        if message.get("type") == "AIMessageChunk":
            yield from self._chunks.read_chunk(message, metadata)
        else:
            yield from self._chunks.read_message(message, metadata)

    def _enter(self, node: Any) -> Iterator[Event]:
        if not isinstance(node, str) or node == self._node:
            return
        yield from self._leave()
        self._node = node
        yield StepStarted(node)

    def _leave(self) -> Iterator[Event]:
        yield from self._chunks.close()
        if self._node is not None:
            yield StepEnded(self._node)
            self._node = None

    def _values(self, values: Json) -> Iterator[Event]:
        self._add_interrupts(values.get("__interrupt__"))
        messages = values.get("messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                yield from self._chunks.read_message(message)
        yield StateReplaced({key: value for key, value in values.items() if key not in ("messages", "__interrupt__")})

    def _updates(self, updates: Json) -> Iterator[Event]:
        self._add_interrupts(updates.get("__interrupt__"))
        for node in updates:
            if node == self._node:
                yield from self._leave()

    def _add_interrupts(self, interrupts: Any) -> None:
        known = {one.id for one in self.interrupts}
        for one in interrupts if isinstance(interrupts, list | tuple) else ():
            named = one.get("id") or one.get("interrupt_id")
            id = named if isinstance(named, str) else new_id("interrupt")
            if id not in known:
                value = one.get("value")
                message = value if isinstance(value, str) else encode(value)
                self.interrupts.append(Interrupt(id, "on_interrupt", message, memo={"kind": KIND, "value": value}))

    def close(self) -> Iterator[Event]:
        yield from self._leave()


def read_error(problem: Any) -> str:
    match problem:
        case {"error": str(kind), "message": str(message)}:
            return f"{kind}: {message}"
        case {"message": str(message)}:
            return message
    return encode(problem)


def write_input(ask: Ask, known: Json) -> Json:
    """Encode the values that are new to the graph.

    Values that its thread already has (`known`) are omitted, because a reducer might add them twice.
    """
    state = ask.state if isinstance(ask.state, dict) else {}
    new_values = {key: value for key, value in state.items() if key != "messages" and known.get(key) != value}
    actions = [{"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in ask.tools]
    context = [{"description": one.description, "value": one.value} for one in ask.context]
    return {
        **new_values,
        "messages": [one for message in select_new(ask.messages, known) for one in write_message(message)],
        "copilotkit": {"actions": actions, "context": context},
    }


def select_new(messages: Sequence[Message], known: Json) -> list[Message]:
    ids = set(ids_in(known.get("messages") or ()))
    return [message for message in messages if not ids.intersection(ids_of(message))]


def ids_of(message: Message) -> set[str]:
    calls = {part.id for part in message.parts if isinstance(part, Call)}
    results = {f"result-{part.call_id}" for part in message.parts if isinstance(part, Result)}
    return results or {message.id} | calls


def ids_in(messages: Sequence[Any]) -> Iterator[str]:
    """Yield the ids of messages and calls, and `result-…` for each result."""
    for message in messages:
        if not isinstance(message, dict):
            continue
        if isinstance(call_id := message.get("tool_call_id"), str):
            yield f"result-{call_id}"
        elif isinstance(id := message.get("id"), str):
            yield id
        for call in message.get("tool_calls") or ():
            yield str(call.get("id"))


def write_command(ask: Ask) -> Json | None:
    """Encode the answers to the graph's interrupts: one as its value, several as values by id."""
    mine = [one for one in ask.answers if isinstance(one.memo, dict) and one.memo.get("kind") == KIND]
    if not mine:
        return None
    values = {one.interrupt_id: one.payload if one.status == "resolved" else REFUSED for one in mine}
    return {"resume": next(iter(values.values())) if len(values) == 1 else values}
