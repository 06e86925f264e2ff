"""Stores the annotations of one user: for faces whose pages send what the user did."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from rightseat.core.ask import Principal
from rightseat.core.errors import BadRequest
from rightseat.core.threads import check_thread_id
from rightseat.core.types import JsonValue
from rightseat.operations.annotations import (
    MAX_EVENT_ID_CHARS,
    MAX_PAYLOAD_BYTES,
    MAX_TYPE_CHARS,
    AnnotationsNotSupported,
    AnnotationStore,
    AnnotationTooLong,
    NewAnnotation,
    StoredAnnotation,
)


class SentAnnotation(msgspec.Struct, frozen=True, kw_only=True):
    """What a page sends. `occurred_at` is a time, in any form of ISO 8601."""

    thread: str
    type: str
    payload: Mapping[str, JsonValue] = {}
    client_event_id: str | None = None
    occurred_at: str | None = None


class OwnAnnotations:
    def __init__(self, store: AnnotationStore | None) -> None:
        self._store = store

    async def add(self, principal: Principal, sent: SentAnnotation) -> StoredAnnotation:
        """Raises `BadRequest`, `AnnotationsNotSupported`, and `ThreadNotFound` for a thread of another user."""
        if self._store is None:
            raise AnnotationsNotSupported
        check_name("type", sent.type, MAX_TYPE_CHARS)
        check_name("threadId", sent.thread)
        check_thread_id(sent.thread)
        if sent.client_event_id is not None:
            check_name("clientEventId", sent.client_event_id, MAX_EVENT_ID_CHARS)
        payload = msgspec.json.encode(sent.payload)
        if len(payload) > MAX_PAYLOAD_BYTES:
            raise AnnotationTooLong(len(payload))
        annotation = NewAnnotation(
            owner=principal.id,
            thread=sent.thread,
            type=sent.type,
            payload=payload.decode(),
            client_event_id=sent.client_event_id,
            occurred_at=None if sent.occurred_at is None else read_time(sent.occurred_at),
            agents=principal.agents,
        )
        return await self._store.add(annotation)


def check_name(field: str, value: str, max_chars: int | None = None) -> None:
    """Raises `BadRequest`. No database stores a NUL character."""
    if not value.strip() or "\0" in value:
        raise BadRequest(f"`{field}` must be a text that is not empty.")
    if max_chars is not None and len(value) > max_chars:
        raise BadRequest(f"`{field}` has {len(value):,} characters; {max_chars} are stored at most.")


def read_time(text: str) -> str:
    """A time in the form of stored times. Without an offset it is UTC. Raises `BadRequest`."""
    try:
        time = datetime.fromisoformat(text)
        known = (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadRequest(f"`occurredAt` is {text[:40]!r}; it must be a time such as 2026-11-16T09:00:00Z.") from None
    return known.isoformat(timespec="microseconds").replace("+00:00", "Z")
