"""Expands AG-UI's `…_CHUNK` events into start, content and end events.

A chunk with a new id starts a stream, a chunk without an id continues the open stream, and any other event ends it. The
agent and each of its subagents have a stream of their own.
"""

from dataclasses import dataclass

from rightseat.core.errors import RightseatError
from rightseat.wire.agui.versions import Json


class BadEvent(RightseatError):
    """An AG-UI agent sent an invalid event."""

    code = "invalid_agent_event"
    status = 502


@dataclass(frozen=True, slots=True)
class Form:
    """The event types that one type of chunk expands to, and the field that holds its id."""

    start: str
    piece: str
    end: str
    id: str


FORMS = {
    "TEXT_MESSAGE_CHUNK": Form("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "messageId"),
    "TOOL_CALL_CHUNK": Form("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "toolCallId"),
    "REASONING_MESSAGE_CHUNK": Form(
        "REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "messageId"
    ),
}
CLOSES_ALL = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
"""Events that end the streams of the agent and of all subagents."""
CLOSES_NONE = frozenset({"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"})


@dataclass(frozen=True, slots=True)
class OpenStream:
    kind: str
    id: str
    owner: str | None


class Chunks:
    """Takes events and returns them with the chunks expanded."""

    def __init__(self) -> None:
        self._streams: dict[str | None, OpenStream] = {}  # by subagent

    def expand(self, event: Json) -> list[Json]:
        kind, owner = event.get("type"), event.get("subagentRunId")
        if kind in FORMS:
            return self._expand_chunk(kind, owner, event)
        if kind in CLOSES_ALL:
            return [*(end for open in list(self._streams) for end in self._close(open)), event]
        if kind in CLOSES_NONE or (kind in ("SUBAGENT_FINISHED", "SUBAGENT_ERROR") and owner is None):
            return [event]
        return [*self._close(owner), event]

    def _expand_chunk(self, kind: str, tag: str | None, chunk: Json) -> list[Json]:
        form = FORMS[kind]
        id: str | None = chunk.get(form.id)
        owner = self._find_owner(kind, id, tag)
        stream = self._streams.get(owner)
        events: list[Json] = []
        if stream is None or stream.kind != kind or id not in (None, stream.id):
            events += self._close(owner)
            events.append(build_start(kind, chunk))
            stream = self._streams[owner] = OpenStream(kind, chunk[form.id], tag)
        if chunk.get("delta") is not None or (not events and chunk.get("metadata") is not None):
            piece = {"type": form.piece, form.id: stream.id, "delta": chunk.get("delta") or ""}
            events.append(piece | attributes(chunk, stream.owner if tag is None else tag))
        return events

    def _find_owner(self, kind: str, id: str | None, tag: str | None) -> str | None:
        """Return the subagent whose stream a chunk belongs to. Only the first chunk has to name it."""
        if id is not None:
            for owner, stream in self._streams.items():
                if (stream.kind, stream.id) == (kind, id):
                    if tag not in (None, owner):
                        raise BadEvent(f"The agent sent a {kind} of {id!r} for subagent {tag!r}; {owner!r} started it.")
                    return owner
            return tag
        if tag is not None:
            return tag
        owners = [owner for owner, stream in self._streams.items() if stream.kind == kind]
        if None in owners or not owners:
            return None
        if len(owners) > 1:
            raise BadEvent(
                f"The agent sent a {kind} without `{FORMS[kind].id}` and `subagentRunId` while {len(owners)} are open."
            )
        return owners[0]

    def _close(self, owner: str | None) -> list[Json]:
        stream = self._streams.pop(owner, None)
        if stream is None:
            return []
        form = FORMS[stream.kind]
        return [{"type": form.end, form.id: stream.id} | attributes({}, stream.owner)]


def build_start(kind: str, chunk: Json) -> Json:
    form = FORMS[kind]
    if chunk.get(form.id) is None:
        raise BadEvent(f"The agent sent a first {kind} without `{form.id}`.")
    start: Json = {"type": form.start, form.id: chunk[form.id]}
    names: tuple[str, ...]
    match kind:
        case "TEXT_MESSAGE_CHUNK":
            start["role"] = chunk.get("role") or "assistant"
            names = ("name",)
        case "TOOL_CALL_CHUNK":
            if chunk.get("toolCallName") is None:
                raise BadEvent(f"The agent sent a first {kind} without `toolCallName`.")
            names = ("toolCallName", "parentMessageId")
        case _:
            start["role"] = "reasoning"
            names = ()
    start |= {name: chunk[name] for name in names if chunk.get(name) is not None}
    return start | attributes(chunk, chunk.get("subagentRunId"))


def attributes(chunk: Json, owner: str | None) -> Json:
    metadata = {} if chunk.get("metadata") is None else {"metadata": chunk["metadata"]}
    return metadata if owner is None else metadata | {"subagentRunId": owner}
