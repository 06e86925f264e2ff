"""Reads the query of a list: what is wanted. `operations.service` decides what the request may see of it."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

from rightseat.core.errors import BadRequest
from rightseat.faces._shared.responses import read_number
from rightseat.faces.operator.requests import OperatorRequest
from rightseat.operations.annotations import AnnotationQuery
from rightseat.operations.feedback import VOTES, FeedbackQuery, Vote
from rightseat.operations.memories import MEMORY_KINDS, MEMORY_SCOPES, MemoryQuery
from rightseat.operations.records import RunQuery, ThreadQuery

MAX_ROWS = 200  # in one page
DEFAULT_ROWS = 50
EVERYONE = "*"
STATES = ("running", "waiting", "done", "cancelled", "failed")
ARCHIVED = {"false": False, "true": True, "all": None}


def read_thread_query(request: OperatorRequest) -> ThreadQuery:
    """Raises `BadRequest`."""
    query = request.http.query_params
    words = query.get("q", "").strip() or None
    archived = read_choice(query, "archived", ARCHIVED) or "false"
    return ThreadQuery(
        user=read_owner(request),
        agent=query.get("agent"),
        archived=ARCHIVED[archived],
        state=read_choice(query, "state", STATES),
        since=read_time(query, "since"),
        words=words,
        after=query.get("after"),
        limit=read_limit(query),
        is_counted=True,
    )


def read_run_query(request: OperatorRequest) -> RunQuery:
    """Raises `BadRequest`."""
    query = request.http.query_params
    return RunQuery(
        user=read_owner(request),
        thread=query.get("thread"),
        agent=query.get("agent"),
        outcome=read_choice(query, "outcome", STATES),
        flow=query.get("flow"),
        feedback=read_vote(query, "feedback"),
        code=read_text(query, "code"),
        since=read_time(query, "since"),
        after=query.get("after"),
        limit=read_limit(query),
    )


def read_feedback_query(request: OperatorRequest) -> FeedbackQuery:
    """Raises `BadRequest`."""
    query = request.http.query_params
    return FeedbackQuery(
        owner=read_owner(request),
        thread=read_text(query, "thread"),
        run=read_text(query, "run"),
        value=read_vote(query, "value"),
        agent=read_text(query, "agent"),
        model=read_text(query, "model"),
        through=read_text(query, "through"),
        tag=read_text(query, "tag"),
        since=read_time(query, "since"),
        after=query.get("after"),
        limit=read_limit(query),
    )


def read_memory_query(request: OperatorRequest) -> MemoryQuery:
    """Raises `BadRequest`."""
    query = request.http.query_params
    scope, kind = read_choice(query, "scope", MEMORY_SCOPES), read_choice(query, "kind", MEMORY_KINDS)
    return MemoryQuery(
        owner=None if scope == "project" else read_owner(request),
        scope=next((known for known in MEMORY_SCOPES if known == scope), None),
        kind=next((known for known in MEMORY_KINDS if known == kind), None),
        agent=read_text(query, "agent"),
        after=query.get("after"),
        limit=read_limit(query),
    )


def read_annotation_query(request: OperatorRequest) -> AnnotationQuery:
    """Raises `BadRequest`."""
    query = request.http.query_params
    return AnnotationQuery(
        owner=read_owner(request),
        thread=read_text(query, "thread"),
        agent=read_text(query, "agent"),
        type=read_text(query, "type"),
        since=read_time(query, "since"),
        after=query.get("after"),
        limit=read_limit(query),
    )


def read_vote(query: Mapping[str, str], name: str) -> Vote | None:
    """Raises `BadRequest`."""
    value = read_choice(query, name, VOTES)
    return next((vote for vote in VOTES if vote == value), None)


def read_text(query: Mapping[str, str], name: str) -> str | None:
    """No database stores a NUL character."""
    value = query.get(name)
    return value if value is None else value.replace("\0", "\ufffd")


def read_owner(request: OperatorRequest) -> str | None:
    """The user whose data is wanted; None for that of all users. By default it is the one who asks."""
    owner = read_text(request.http.query_params, "owner") or request.principal.id
    return None if owner == EVERYONE else owner


def read_choice(query: Mapping[str, str], name: str, known: Collection[str]) -> str | None:
    """Raises `BadRequest`."""
    value = query.get(name)
    if value is not None and value not in known:
        raise BadRequest(f"{name} is {value[:20]!r}; it must be one of {', '.join(known)}.")
    return value


def read_time(query: Mapping[str, str], name: str) -> str | None:
    """A time, in the form of stored times. Without an offset it is UTC. Raises `BadRequest`."""
    text = query.get(name)
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest(f"{name} is {text[:40]!r}; it must be a time such as 2026-11-16T09:00:00Z.") from None
    known = time if time.tzinfo else time.replace(tzinfo=UTC)
    return known.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def read_limit(query: Mapping[str, str]) -> int:
    return max(1, min(read_number(query, "limit", DEFAULT_ROWS), MAX_ROWS))
