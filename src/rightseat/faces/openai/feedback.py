"""What users think of answers, by the ids of responses, of their messages, and of chat completions."""

import re

from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.faces._shared.feedback import AnswerFinder, list_feedback, store_feedback
from rightseat.operations.feedback import JudgedAnswer
from rightseat.operations.own_feedback import OwnFeedback

RUN = re.compile("(?:resp|chatcmpl|msg)_?-?([0-9a-f]{32})(?:_[0-9a-f]{1,32})?")
"""The id of a response, of a chat completion, or of a message of a response."""


class RunFinder(AnswerFinder):
    """Clients know a run by the id of its response."""

    async def find(self, principal: Principal, id: str) -> JudgedAnswer | None:
        parsed = RUN.fullmatch(id)
        found = await self.feedback.find(principal, f"run_{parsed[1]}") if parsed else None
        return found or await self.feedback.find(principal, id)


class ResponseFeedback:
    def __init__(self, feedback: OwnFeedback) -> None:
        self._finder = RunFinder(feedback)

    async def store(self, body: bytes, request: Request, principal: Principal) -> Response:
        return await store_feedback(self._finder, body, principal, "openai")

    async def list(self, body: bytes, request: Request, principal: Principal) -> Response:
        return await list_feedback(self._finder, request.query_params, principal)
