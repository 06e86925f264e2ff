"""Finds where a request belongs: a thread of the protocol (`thread`), a session of Claude Code, or no stored thread.

A reply in a thread has a record, which is an artifact of the stored thread. A request that continues a reply has the
messages up to it. A reply that was continued before branches: the new messages begin a thread with a copy.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from starlette.requests import Request

from rightseat.core.artifacts import PRIVATE_MEDIA_TYPE, StoredArtifact
from rightseat.core.ask import Ask, Principal, ToolOffer
from rightseat.core.ids import new_id
from rightseat.core.messages import Call, Message, Result
from rightseat.core.runtime import Runtime
from rightseat.core.threads import Thread
from rightseat.core.types import JSON_ERRORS
from rightseat.faces.anthropic.error_form import InvalidMessagesRequest, message_id
from rightseat.faces.anthropic.request_body import MessagesRequest
from rightseat.turns import take_turn

SESSION_HEADER = "x-claude-code-session-id"
SUBAGENT_HEADER = "x-claude-code-agent-id"
MAX_SESSION_CHARS = 200
MARK = "messages_api"
"""The key in `Message.extra` of a system prompt, which the next request may replace."""
IN_FLIGHT = (
    "The reply {id!r} is still being written. Wait for its end, or send the whole conversation without `thread`."
)
NOT_FOUND = (
    "There is no reply {id!r} to continue: it was sent without `thread`, its thread was deleted, or it never was. Send "
    "the whole conversation."
)
NO_STORE = "This server does not store threads: its store keeps no files. Send the whole conversation without `thread`."


class ReplyRecord(msgspec.Struct, frozen=True):
    """`start` is the number of messages that the stored thread had before the request; `tools` are the client's."""

    thread_id: str
    run_id: str
    start: int
    tools: tuple[ToolOffer, ...] = ()


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a request belongs. `history` are the messages before those that it sends, without its system prompt.

    `stored` are the messages of a session, which the client sends again. `start` is as in `ReplyRecord`.
    """

    thread_id: str = field(default_factory=lambda: new_id("thread"))
    is_stored: bool = False
    has_record: bool = False
    is_new: bool = True
    system: tuple[Message, ...] = ()
    history: tuple[Message, ...] = ()
    stored: tuple[Message, ...] = ()
    start: int = 0
    tools: tuple[ToolOffer, ...] = ()
    truncate_at: str | None = None
    run_id: str = ""
    """The run of the reply that is continued."""

    @property
    def waiting_calls(self) -> dict[str, str]:
        """The names of the history's calls of the client's tools without a result, by their ids."""
        parts = [part for message in self.history for part in message.parts]
        done, offered = {part.call_id for part in parts if isinstance(part, Result)}, {one.name for one in self.tools}
        calls = (part for part in parts if isinstance(part, Call) and part.id not in done)
        return {call.id: call.name for call in calls if call.name in offered}


class KeptThreads:
    def __init__(self, runtime: Runtime, *, keeps_sessions: bool) -> None:
        self._runtime = runtime
        self._keeps_sessions = keeps_sessions

    async def find_place(self, request: MessagesRequest, http: Request, principal: Principal) -> MessagePlace:
        """Raises `InvalidMessagesRequest`."""
        thread = request.body.thread
        if thread is not None:
            if self._runtime.artifacts is None:
                raise thread_error(NO_STORE, "thread_unsupported_request")
            if thread.type == "create":
                return MessagePlace(is_stored=True, has_record=True)
            return await self._find_continued(thread.previous_message_id or "", principal)
        if self._keeps_sessions and (session := read_session(request, http)):
            return await self._find_session(session, principal, request.model)
        return MessagePlace()

    def write_record(self, place: MessagePlace, ask: Ask) -> StoredArtifact:
        """For `Runtime.start`, so that the reply has its record even if the server is killed."""
        record = ReplyRecord(ask.thread_id, ask.run_id, place.start, ask.tools)
        id = message_id(ask.run_id)
        return StoredArtifact(id, ask.agent, id, PRIVATE_MEDIA_TYPE, msgspec.json.encode(record))

    async def _find_record(self, id: str, principal: Principal) -> ReplyRecord | None:
        found = await self._runtime.artifacts.get(id, principal) if self._runtime.artifacts and "\0" not in id else None
        if found is None or found.media_type != PRIVATE_MEDIA_TYPE or not principal.may_use(found.agent):
            return None
        return _decode(found.content)

    async def _find_continued(self, id: str, principal: Principal) -> MessagePlace:
        record = await self._find_record(id, principal) if id.startswith("msg_") else None
        thread = await self._runtime.settled(record.thread_id, principal) if record else None
        run = next((one for one in thread.runs if record and one.id == record.run_id), None) if thread else None
        if record is None or thread is None or run is None or run.outcome in ("failed", "cancelled"):
            raise thread_error(NOT_FOUND.format(id=id[:100]), "thread_not_found", status=404)
        if run.outcome is None:
            raise thread_error(IN_FLIGHT.format(id=id[:100]), "thread_continue_in_flight", status=409)
        await take_turn()
        return await self._place_after(record, thread, principal)

    async def _place_after(self, record: ReplyRecord, thread: Thread, principal: Principal) -> MessagePlace:
        runs = [run.id for run in thread.runs]
        later = thread.runs[runs.index(record.run_id) + 1 :]
        records = [(run, await self._find_record(message_id(run.id), principal)) for run in later]
        continued = [(run, one) for run, one in records if one is not None]
        end = continued[0][1].start if continued else len(thread.messages)
        is_free = all(run.outcome in ("failed", "cancelled") for run, _ in continued)
        messages = thread.messages[:end]
        return MessagePlace(
            thread_id=thread.id if is_free else new_id("thread"),
            is_stored=True,
            has_record=True,
            is_new=not is_free,
            system=tuple(message for message in messages if is_marked(message))[-1:],
            history=tuple(message for message in messages if not is_marked(message)),
            start=end,
            tools=record.tools,
            run_id=record.run_id,
            truncate_at=thread.messages[end].id if is_free and end < len(thread.messages) else None,
        )

    async def _find_session(self, session: str, principal: Principal, model: str) -> MessagePlace:
        """A session has a thread for each model that it asks, and each sub-agent."""
        digest = hashlib.sha256("\0".join((principal.id, session, model)).encode()).hexdigest()
        thread = await self._runtime.settled(f"thread_{digest[:32]}", principal)
        return MessagePlace(
            thread_id=f"thread_{digest[:32]}",
            is_stored=True,
            is_new=thread is None,
            stored=thread.messages if thread else (),
        )


_decode = msgspec.json.Decoder(ReplyRecord).decode


def thread_error(message: str, code: str, status: int = 400) -> InvalidMessagesRequest:
    """With the code by which Anthropic's SDKs know what to do next."""
    return InvalidMessagesRequest(message, details={"error_code": code}, status=status)


def mark_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(msgspec.structs.replace(message, extra={MARK: "system"}) for message in messages)


def is_marked(message: Message) -> bool:
    return isinstance(message.extra, dict) and MARK in message.extra


def read_session(request: MessagesRequest, http: Request) -> str | None:
    """The id of a session of Claude Code, with that of its sub-agent."""
    session = http.headers.get(SESSION_HEADER) or read_user_id(request.body.metadata).get("session_id")
    if not isinstance(session, str) or not 0 < len(session) <= MAX_SESSION_CHARS:
        return None
    return f"{session}\0{http.headers.get(SUBAGENT_HEADER, '')[:MAX_SESSION_CHARS]}"


def read_user_id(metadata: Mapping[str, object] | None) -> Mapping[str, object]:
    """Claude Code sends JSON in `metadata.user_id`."""
    given = (metadata or {}).get("user_id")
    try:
        found = msgspec.json.decode(given) if isinstance(given, str) else None
    except JSON_ERRORS:
        return {}
    return found if isinstance(found, dict) else {}


def reuse_messages(given: Sequence[Message], stored: Sequence[Message]) -> tuple[tuple[Message, ...], str | None]:
    """The messages of a client that sends its whole conversation, those that the thread has with their ids and the
    provider's data; and the id of the first stored message that the client no longer has."""
    at = taken = 0
    while taken < len(given) and at < len(stored):
        if is_same(given[taken], stored[at]):
            at += 1
        elif (end := find_reply_end(given[taken], stored, at)) is not None:
            at = end
        else:
            break
        taken += 1
    return (*stored[:at], *given[taken:]), stored[at].id if at < len(stored) else None


def is_same(one: Message, other: Message) -> bool:
    return one.role == other.role and one.parts == other.parts


def find_reply_end(given: Message, stored: Sequence[Message], at: int) -> int | None:
    """Where the stored messages end that the client received as this one: with the calls of the agent's own tools and
    their results between them, which it did not receive."""
    if given.role != "assistant":
        return None
    wanted = {part.id for part in given.parts if isinstance(part, Call)}
    text, called = "", set[str]()
    while at < len(stored) and is_of_reply(stored[at], wanted):
        text += stored[at].text
        called |= {part.id for part in stored[at].parts if isinstance(part, Call)} & wanted
        at += 1
    return at if called == wanted and text.strip() == given.text.strip() else None


def is_of_reply(message: Message, wanted: set[str]) -> bool:
    """Whether the message is the assistant's, or the result of a call that the client did not receive."""
    if message.role == "tool":
        return not any(isinstance(part, Result) and part.call_id in wanted for part in message.parts)
    return message.role == "assistant"
