"""AG-UI's short forms, spelt out: a `…_CHUNK` begins, continues or ends a message without saying which of them it does.

A chunk with a new id begins a stream, one without continues the one that is open, and whatever else comes ends it. Each
subagent has a stream of its own, and so has the agent itself.
"""

from dataclasses import dataclass

from rightseat.core.errors import RightseatError
from rightseat.wire.agui.versions import Json


class BadEvent(RightseatError):
    """An agent that speaks AG-UI said what cannot be understood."""

    code = "bad_agent_event"
    status = 502


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of chunk is spelt out."""

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
OF_ALL = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
"""End the streams of every subagent."""
OF_NONE = frozenset({"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"})


@dataclass(frozen=True, slots=True)
class Stream:
    kind: str
    id: str
    owner: str | None


class Chunks:
    """Feed it events, take events without chunks."""

    def __init__(self) -> None:
        self._streams: dict[str | None, Stream] = {}  # by subagent

    def expand(self, event: Json) -> list[Json]:
        kind, owner = event.get("type"), event.get("subagentRunId")
        if kind in FORMS:
            return self._chunk(kind, owner, event)
        if kind in OF_ALL:
            return [*(end for open in list(self._streams) for end in self._close(open)), event]
        if kind in OF_NONE or (kind in ("SUBAGENT_FINISHED", "SUBAGENT_ERROR") and owner is None):
            return [event]
        return [*self._close(owner), event]

    def _chunk(self, kind: str, tag: str | None, chunk: Json) -> list[Json]:
        form = FORMS[kind]
        id: str | None = chunk.get(form.id)
        lane = self._lane(kind, id, tag)
        stream = self._streams.get(lane)
        said: list[Json] = []
        if stream is None or stream.kind != kind or id not in (None, stream.id):
            said += self._close(lane)
            said.append(opened(kind, chunk))
            stream = self._streams[lane] = Stream(kind, chunk[form.id], tag)
        if chunk.get("delta") is not None or (not said and chunk.get("metadata") is not None):
            piece = {"type": form.piece, form.id: stream.id, "delta": chunk.get("delta") or ""}
            said.append(piece | attributes(chunk, stream.owner if tag is None else tag))
        return said

    def _lane(self, kind: str, id: str | None, tag: str | None) -> str | None:
        """Whose stream a chunk belongs to. Only the first chunk need say it."""
        if id is not None:
            for owner, stream in self._streams.items():
                if (stream.kind, stream.id) == (kind, id):
                    if tag not in (None, owner):
                        raise BadEvent(f"A {kind} of {id!r} says subagent {tag!r}; it was begun by {owner!r}.")
                    return owner
            return tag
        if tag is not None:
            return tag
        owners = [owner for owner, stream in self._streams.items() if stream.kind == kind]
        if None in owners or not owners:
            return None
        if len(owners) > 1:
            raise BadEvent(f"A {kind} names neither its message nor its subagent, and {len(owners)} are open.")
        return owners[0]

    def _close(self, owner: str | None) -> list[Json]:
        stream = self._streams.pop(owner, None)
        if stream is None:
            return []
        form = FORMS[stream.kind]
        return [{"type": form.end, form.id: stream.id} | attributes({}, stream.owner)]


def opened(kind: str, chunk: Json) -> Json:
    form = FORMS[kind]
    if chunk.get(form.id) is None:
        raise BadEvent(f"The first {kind} must have a `{form.id}`.")
    start: Json = {"type": form.start, form.id: chunk[form.id]}
    names: tuple[str, ...]
    match kind:
        case "TEXT_MESSAGE_CHUNK":
            start["role"] = chunk.get("role") or "assistant"
            names = ("name",)
        case "TOOL_CALL_CHUNK":
            if chunk.get("toolCallName") is None:
                raise BadEvent(f"The first {kind} must have a `toolCallName`.")
            names = ("toolCallName", "parentMessageId")
        case _:
            start["role"] = "reasoning"
            names = ()
    start |= {name: chunk[name] for name in names if chunk.get(name) is not None}
    return start | attributes(chunk, chunk.get("subagentRunId"))


def attributes(chunk: Json, owner: str | None) -> Json:
    metadata = {} if chunk.get("metadata") is None else {"metadata": chunk["metadata"]}
    return metadata if owner is None else metadata | {"subagentRunId": owner}
