"""What users think of answers, by the ids of messages."""

from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.faces._shared.feedback import RunFinder, list_feedback, store_feedback
from rightseat.operations.own_feedback import OwnFeedback


class MessageFeedback:
    def __init__(self, feedback: OwnFeedback) -> None:
        self._finder = RunFinder(feedback)

    async def store(self, body: bytes, request: Request, principal: Principal) -> Response:
        return await store_feedback(self._finder, body, principal, "anthropic")

    async def list(self, body: bytes, request: Request, principal: Principal) -> Response:
        return await list_feedback(self._finder, request.query_params, principal)
