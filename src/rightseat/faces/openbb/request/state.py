"""Signed state that a browser carries from one request of a question to the next.

It is sent with a function call and comes back with the result. It is one string, because a browser may reformat the
keys and numbers of an object, but not a string.
"""

import base64
import hmac
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rightseat.access.key_files import load_or_create_key
from rightseat.core.errors import BadRequest
from rightseat.core.messages import Call, Message, Part, Result
from rightseat.faces.openbb.request.types import FunctionCall, FunctionResult, Query

STATE_FIELD = "rightseat"
MAX_STATE_BYTES = 2**20
"""Bytes of a decompressed state."""
MAX_CARRIED_CHARS = 32_000
"""Characters of tool results, or of skills, that a browser carries from one request to the next."""
OMITTED_RESULT = "[This result was too long to be kept. Call the tool again if you need it.]"

_decoder_failures = (msgspec.DecodeError, msgspec.ValidationError, ValueError, zlib.error)


class CarriedCall(msgspec.Struct, frozen=True, array_like=True):
    """A tool call of the model: its id, the tool name and the arguments as written by the model."""

    id: str
    name: str
    arguments: str


class ClientRequest(msgspec.Struct, frozen=True, array_like=True):
    """A function call sent to the client. `data[i]` of its result answers the model calls with the ids `answers[i]`."""

    function: str
    arguments: dict[str, Any]
    answers: tuple[tuple[str, ...], ...]


class State(msgspec.Struct, frozen=True):
    """`calls` are all tool calls of one model response, `current` the call ids of the request that this state belongs
    to, `queue` the requests that follow.

    `earlier_messages` are calls and results of the server's own tools for this question before the request.
    """

    agent: str
    calls: tuple[CarriedCall, ...] = ()
    current: tuple[tuple[str, ...], ...] = ()
    queue: tuple[ClientRequest, ...] = ()
    earlier_messages: tuple[Message, ...] = ()
    model_calls: int = 0
    """Model calls for this question so far."""
    function_calls: int = 0
    """Function calls for this question so far, including this one."""
    timezone: str | None = None
    skills: tuple[dict[str, Any], ...] = ()
    """Skills that the user selected. Like the time zone, Workspace sends them only with the first request."""


class InvalidSignature(BadRequest):
    code = "invalid_signature"

    def __init__(self) -> None:
        super().__init__(
            "The signed state of this chat is invalid or belongs to another agent. Please ask your question again."
        )


class StateSigner:
    """Signs and verifies states. Without a `secret`, the key is created once and stored in a file."""

    def __init__(self, path: Path, secret: str | None = None) -> None:
        self._path = path
        self._key = secret.encode() if secret else b""

    def sign(self, state: State) -> dict[str, str]:
        packed = zlib.compress(msgspec.json.encode(state), 1)
        return {STATE_FIELD: base64.urlsafe_b64encode(self._sign(packed) + packed).decode()}

    def verify(self, carried: Mapping[str, Any], agent: str) -> State | None:
        """Return None if the client carries no state. Raises `InvalidSignature` if it was altered or belongs to another
        agent."""
        if not carried:
            return None
        try:
            raw = base64.b64decode(carried[STATE_FIELD], b"-_", validate=True)
            signature, packed = raw[:32], raw[32:]
            if not hmac.compare_digest(signature, self._sign(packed)):
                raise InvalidSignature
            state = msgspec.json.decode(decompress(packed), type=State)
        except (KeyError, TypeError, *_decoder_failures):
            raise InvalidSignature from None
        if state.agent != agent:
            raise InvalidSignature
        return state

    def _sign(self, packed: bytes) -> bytes:
        if not self._key:
            self._key = load_or_create_key(self._path)
        return hmac.digest(self._key, packed, "sha256")


def decompress(packed: bytes) -> bytes:
    """Decompress up to `MAX_STATE_BYTES`, even though the signature was verified."""
    unpacker = zlib.decompressobj()
    found = unpacker.decompress(packed, MAX_STATE_BYTES)
    if not unpacker.eof:
        raise ValueError("the state is too large")
    return found


class QuestionUsage(NamedTuple):
    """Model calls and function calls for a question so far."""

    model_calls: int
    function_calls: int


def read_states(query: Query, signer: StateSigner, agent: str) -> dict[int, State]:
    """Verify the states of the request, by the index of their results.

    Raise `InvalidSignature` for an invalid state of the current question. An invalid state of an earlier question is
    ignored: it may belong to another agent, and its result is still useful.
    """
    found: dict[int, State] = {}
    for place, entry in enumerate(query.messages):
        if not isinstance(entry, FunctionResult):
            continue
        try:
            state = signer.verify(find_state(query, place, entry), agent)
        except InvalidSignature:
            if place > query.question_index:
                raise
            continue
        if state is not None:
            found[place] = state
    return found


def find_state(query: Query, place: int, entry: FunctionResult) -> Mapping[str, Any]:
    """Find the state in the result, or in the call before it, which clients of 2024 repeat verbatim."""
    if entry.state or place == 0:
        return entry.state
    called = query.messages[place - 1]
    found = called.raw.get("extra_state") if isinstance(called, FunctionCall) else None
    return found if isinstance(found, dict) else {}


def count_usage(query: Query, states: Mapping[int, State]) -> QuestionUsage:
    """Count the calls, also by the results in the request, in case the client lost a state."""
    if not isinstance(query.messages[-1], FunctionResult):
        return QuestionUsage(0, 0)
    ours = states_of_question(query, states)
    returned = sum(isinstance(entry, FunctionResult) for entry in query.messages_since_question)
    function_calls = max((state.function_calls for state in ours), default=0)
    return QuestionUsage(max((state.model_calls for state in ours), default=returned), max(function_calls, returned))


def states_of_question(query: Query, states: Mapping[int, State]) -> list[State]:
    return [state for place, state in states.items() if place > query.question_index]


def restore_question_fields(query: Query, states: Mapping[int, State]) -> Query:
    """Restore the fields that Workspace sends only with the first request of a question."""
    known = states_of_question(query, states) if states else []
    if not known:
        return query
    return msgspec.structs.replace(
        query,
        timezone=query.timezone or known[-1].timezone,
        selected_skills=query.selected_skills or known[-1].skills,
    )


def limit_skills(skills: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Keep only the fields that are used, and no skills if they are too long."""
    found = tuple({key: skill[key] for key in ("slug", "contentMarkdown") if key in skill} for skill in skills)
    return found if len(msgspec.json.encode(found)) <= MAX_CARRIED_CHARS else ()


def limit_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Limit the results of the server's own tools; the oldest are replaced by a note."""
    room = MAX_CARRIED_CHARS
    kept: list[Message] = []
    for message in reversed(messages):
        parts: list[Part] = []
        for part in message.parts:
            if isinstance(part, Result):
                part = (
                    part if len(part.content) <= room else Result(part.call_id, part.name, OMITTED_RESULT, part.error)
                )
                room -= len(part.content)
            elif isinstance(part, Call):
                room -= len(part.arguments)
            parts.append(part)
        kept.append(Message(message.role, tuple(parts), id=message.id))
    return tuple(reversed(kept))
