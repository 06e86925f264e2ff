"""Feedback: a person's judgement of an answer, as an up or down vote with a comment and tags.

There is one row for each run and user. A later vote on the same answer replaces the row, and a vote of None withdraws
it. Only the user whose run it is can judge an answer.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, get_args

import msgspec

from rightseat.core.errors import BadRequest, RightseatError
from rightseat.core.types import JsonValue
from rightseat.core.usage import ModelUsage
from rightseat.operations.records import Page, RecordReader

Vote = Literal["up", "down"]
VOTES: Sequence[Vote] = get_args(Vote)
Bucket = Literal["hour", "day"]

MAX_ID_CHARS = 512
MAX_COMMENT_CHARS = 4000
MAX_TAGS = 20
MAX_TAG_CHARS = 64
MAX_QUOTE_CHARS = 20_000
"""Of the question and of the text of an answer whose run is not stored. Longer texts are truncated."""
MAX_UNSTORED_ROWS = 10_000
"""Of one user, for answers whose runs are not stored: no thread takes them with it. The oldest are deleted first."""


class AnswerNotFound(RightseatError):
    code = "answer_not_found"
    status = 404

    def __init__(self, id: str) -> None:
        super().__init__(
            f"There is no answer with the id {id[:80]!r} that you can judge. Send the id of a message or a run of your "
            "own, after the run has ended."
        )


class FeedbackNotSupported(RightseatError):
    code = "feedback_not_supported"
    status = 501

    def __init__(self) -> None:
        super().__init__("The configured store of threads stores no feedback. Use `threads: {type: sql}`.")


class SentJudgement(msgspec.Struct, frozen=True):
    """What a client sends. `vote` is None to withdraw an earlier one."""

    vote: Vote | None
    comment: str | None = None
    tags: tuple[str, ...] = ()


class Judgement(msgspec.Struct, frozen=True):
    """What is stored, see `check_judgement`."""

    vote: Vote
    comment: str | None = None
    tags: tuple[str, ...] = ()


class JudgedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a judgement is about. `key` is unique among the answers of its owner: the id of the run, if that is known.

    `thread` is None if the run is not stored; then `question` and `text` may quote the conversation. `message` is the
    id of the message, if the client named one, and `model` the model that wrote most of the run's text. `trace_id` is
    the client's id of the conversation.
    """

    key: str
    owner: str
    run: str | None = None
    thread: str | None = None
    message: str | None = None
    agent: str | None = None
    model: str | None = None
    trace_id: str | None = None
    question: str | None = None
    text: str | None = None


class FeedbackRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored judgement. Times are ISO 8601, in UTC. `through` is the face that received it."""

    id: str
    owner: str
    run: str | None
    thread: str | None
    message: str | None
    agent: str | None
    model: str | None
    through: str
    value: Vote
    comment: str | None
    tags: Sequence[str]
    trace_id: str | None
    question: str | None
    text: str | None
    created_at: str
    updated_at: str


class FeedbackQuery(msgspec.Struct, frozen=True, kw_only=True):
    """As `records.RunQuery`: fields that are None restrict nothing. `since` restricts `created_at`."""

    reader: RecordReader | None = None
    owner: str | None = None
    thread: str | None = None
    run: str | None = None
    value: Vote | None = None
    agent: str | None = None
    model: str | None = None
    through: str | None = None
    tag: str | None = None
    since: str | None = None
    after: str | None = None
    limit: int = 50
    is_oldest_first: bool = False


class FeedbackCount(msgspec.Struct, frozen=True):
    """The votes on answers of one agent and one model, given first in the hour or on the day that begins at `start`."""

    start: str
    agent: str | None
    model: str | None
    up: int
    down: int


class FeedbackStore(Protocol):
    async def find_answer(self, id: str, owner: str) -> JudgedAnswer | None:
        """The answer with this id of a run or of one of its messages, if it is the owner's."""
        ...

    async def find_quoted(self, trace_id: str, text: str, owner: str) -> JudgedAnswer | None:
        """The answer of a transient run with this text in this conversation of the client, if this process still
        remembers it; otherwise the last one of the conversation."""
        ...

    async def give(self, answer: JudgedAnswer, judgement: Judgement, through: str) -> FeedbackRow:
        """Store a vote, in place of an earlier one. Raises `AnswerNotFound` if its thread was deleted meanwhile."""
        ...

    async def withdraw(self, answer: JudgedAnswer) -> bool:
        """Returns whether there was a vote."""
        ...

    async def list(self, query: FeedbackQuery) -> Page[FeedbackRow]:
        """The most recently given first, or last. Raises `BadRequest` for a cursor that is none."""
        ...

    async def count(self, query: FeedbackQuery, bucket: Bucket) -> Sequence[FeedbackCount]:
        """The counts of all votes of the query, in order of time. The cursor and the limit do not apply."""
        ...

    async def read_user(self, user: str) -> Sequence[JsonValue]: ...

    async def forget_user(self, user: str) -> int:
        """Returns how many rows were deleted."""
        ...


class UserFeedback:
    """A `UserRecords`: the judgements of one user, for their export and their erasure."""

    name = "feedback"

    def __init__(self, store: FeedbackStore) -> None:
        self._store = store

    async def read_user(self, user: str) -> Sequence[JsonValue]:
        return await self._store.read_user(user)

    async def forget_user(self, user: str) -> int:
        return await self._store.forget_user(user)


def check_judgement(sent: SentJudgement) -> Judgement | None:
    """The judgement as it is stored: without control characters that no database stores, each tag once.

    None to withdraw an earlier one. Raises `BadRequest`.
    """
    comment = (sent.comment or "").replace("\0", "").strip() or None
    if comment and len(comment) > MAX_COMMENT_CHARS:
        raise BadRequest(f"The comment has {len(comment):,} characters; {MAX_COMMENT_CHARS:,} are stored at most.")
    if len(sent.tags) > MAX_TAGS:
        raise BadRequest(f"{len(sent.tags):,} tags were sent; a vote has {MAX_TAGS} at most.")
    tags = tuple(dict.fromkeys(text for tag in sent.tags if (text := tag.replace("\0", "").strip())))
    if any(len(tag) > MAX_TAG_CHARS for tag in tags):
        raise BadRequest(f"A tag has {MAX_TAG_CHARS} characters at most.")
    return None if sent.vote is None else Judgement(sent.vote, comment, tags)


def find_main_model(models: Sequence[ModelUsage]) -> str | None:
    """The model that wrote most of a run's text, by its name in the configuration."""
    if not models:
        return None
    return max(models, key=lambda model: (model.usage.output_tokens if model.usage else 0, model.calls)).name


def is_wanted_row(row: FeedbackRow, query: FeedbackQuery) -> bool:
    """Whether the query finds the row, without regard to its reader and its cursor."""
    wanted: Mapping[str, str | None] = {
        "owner": query.owner,
        "thread": query.thread,
        "run": query.run,
        "value": query.value,
        "agent": query.agent,
        "model": query.model,
        "through": query.through,
    }
    return (
        all(value in (None, getattr(row, field)) for field, value in wanted.items())
        and (query.tag is None or query.tag in row.tags)
        and (query.since is None or row.created_at >= query.since)
    )


def read_feedback_cursor(text: str) -> tuple[str, str]:
    """The time and the id of the last row of the page before. Raises `BadRequest`."""
    time, _, id = text.partition("/")
    if not id or "\0" in text:
        raise BadRequest(f"{text[:60]!r} is not the cursor of a page of feedback.")
    return time, id
