"""What users think of answers: the votes with their comments, their counts over time, and a vote of one's own."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from starlette.responses import Response

from rightseat.faces._shared.feedback import AnswerFinder, store_feedback
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.queries import read_choice, read_feedback_query
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.operations.feedback import FeedbackCount, FeedbackNotSupported, FeedbackRow
from rightseat.operations.own_feedback import OwnFeedback
from rightseat.operations.service import Operations


class VotePage(msgspec.Struct, frozen=True):
    """The newest first. `next` is the `after` of the next page."""

    feedback: Sequence[FeedbackRow]
    next: str | None


class VoteCounts(msgspec.Struct, frozen=True):
    """In order of time. Hours, days, agents and models without votes are left out."""

    bucket: Literal["hour", "day"]
    counts: Sequence[FeedbackCount]


class FeedbackRoutes:
    def __init__(self, operations: Operations, feedback: OwnFeedback | None) -> None:
        self._operations = operations
        self._finder = AnswerFinder(feedback) if feedback is not None else None

    def routes(self) -> Routes:
        return {
            ("GET", "feedback"): self.list,
            ("GET", "feedback/counts"): self.count,
            ("POST", "feedback"): self.store,
        }

    async def list(self, request: OperatorRequest) -> Response:
        page = await self._operations.list_feedback(request.operator, read_feedback_query(request))
        return json_response(VotePage(page.rows, page.next))

    async def count(self, request: OperatorRequest) -> Response:
        bucket: Literal["hour", "day"] = "day"
        if read_choice(request.http.query_params, "bucket", ("hour", "day")) == "hour":
            bucket = "hour"
        query = read_feedback_query(request)
        return json_response(VoteCounts(bucket, await self._operations.count_feedback(request.operator, query, bucket)))

    async def store(self, request: OperatorRequest) -> Response:
        """The vote of the operator on an answer of its own."""
        if self._finder is None:
            raise FeedbackNotSupported
        return await store_feedback(self._finder, request.body, request.principal, "operator")
