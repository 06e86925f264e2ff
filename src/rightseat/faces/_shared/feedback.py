"""`POST …/feedback` and `GET …/feedback`, in one form on every face that has them.

A client sends any id of an answer that it knows: of a message, of a run, of a response.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.core.errors import BadRequest
from rightseat.faces._shared.responses import BodyTooLarge, decode_body, json_response, repair_surrogates
from rightseat.operations.feedback import AnswerNotFound, FeedbackRow, JudgedAnswer, SentJudgement, Vote
from rightseat.operations.own_feedback import OwnFeedback

RUN = re.compile("(?:resp|chatcmpl|msg)_?-?([0-9a-f]{32})(?:_[0-9a-f]{1,32})?")
"""The id of a response, of a chat completion, or of a message of either API that has it."""
MAX_BODY_BYTES = 2**18
"""The longest id, comment and tags have a third of it, with each character written as an escape."""


class FeedbackBody(msgspec.Struct, forbid_unknown_fields=True):
    """`value` null withdraws the vote."""

    id: str
    value: Vote | None
    comment: str | None = None
    tags: tuple[str, ...] = ()


class FeedbackLine(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A vote of the user. `id` and the times are null once it is withdrawn."""

    run_id: str | None
    thread_id: str | None
    message_id: str | None
    value: Vote | None = None
    comment: str | None = None
    tags: Sequence[str] = ()
    id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class FeedbackLines(msgspec.Struct, frozen=True):
    """The newest first. With more than a page `next` is not null: the oldest votes of the thread are left out."""

    feedback: Sequence[FeedbackLine]
    next: str | None = None


class AnswerFinder:
    """Finds the answer that a client names. Faces whose clients know answers by other ids have one of their own."""

    def __init__(self, feedback: OwnFeedback) -> None:
        self.feedback = feedback

    async def find(self, principal: Principal, id: str) -> JudgedAnswer | None:
        return await self.feedback.find(principal, id)


class RunFinder(AnswerFinder):
    """For clients that know a run by the id of its response, which has that of the run."""

    async def find(self, principal: Principal, id: str) -> JudgedAnswer | None:
        parsed = RUN.fullmatch(id)
        found = await self.feedback.find(principal, f"run_{parsed[1]}") if parsed else None
        return found or await self.feedback.find(principal, id)


class FeedbackEndpoints:
    """Both endpoints of the face `through`."""

    def __init__(self, finder: AnswerFinder, through: str) -> None:
        self._finder = finder
        self._through = through

    async def store(self, body: bytes, request: Request, principal: Principal) -> Response:
        return await store_feedback(self._finder, body, principal, self._through)

    async def list(self, body: bytes, request: Request, principal: Principal) -> Response:
        return await list_feedback(self._finder, request.query_params, principal)


async def store_feedback(finder: AnswerFinder, body: bytes, principal: Principal, through: str) -> Response:
    """Raises `BadRequest`, `AnswerNotFound` and `GuardDenied`."""
    if len(body) > MAX_BODY_BYTES:
        raise BodyTooLarge(MAX_BODY_BYTES)
    sent = decode_body(repair_surrogates(body), FeedbackBody)
    answer = await finder.find(principal, sent.id)
    if answer is None:
        raise AnswerNotFound(sent.id)
    judgement = SentJudgement(sent.value, sent.comment, sent.tags)
    row = await finder.feedback.judge(principal, answer, judgement, through)
    return json_response(describe_row(row) if row else describe_withdrawn(answer))


async def list_feedback(finder: AnswerFinder, query: Mapping[str, str], principal: Principal) -> Response:
    """The user's votes in the thread `threadId`, or on the answer `id`. Raises `BadRequest` and `AnswerNotFound`."""
    thread_id, id = query.get("threadId"), query.get("id")
    if thread_id:
        page = await finder.feedback.list_thread(principal, thread_id)
    elif id:
        answer = await finder.find(principal, id)
        if answer is None:
            raise AnswerNotFound(id)
        page = await finder.feedback.list_run(principal, answer.key)
    else:
        raise BadRequest("Name the thread with `?threadId=`, or an answer with `?id=`.")
    return json_response(FeedbackLines([describe_row(row) for row in page.rows], page.next))


def describe_row(row: FeedbackRow) -> FeedbackLine:
    return FeedbackLine(
        id=row.id,
        run_id=row.run,
        thread_id=row.thread,
        message_id=row.message,
        value=row.value,
        comment=row.comment,
        tags=row.tags,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def describe_withdrawn(answer: JudgedAnswer) -> FeedbackLine:
    return FeedbackLine(run_id=answer.run, thread_id=answer.thread, message_id=answer.message)
