"""What users think of answers. The client's buttons call the page back and send nothing: the page sends the id."""

from starlette.responses import Response

from rightseat.faces._shared.feedback import AnswerFinder, list_feedback, store_feedback
from rightseat.faces.copilotkit.current.routing import OperationRequest, Routes
from rightseat.operations.own_feedback import OwnFeedback


class FeedbackOperations:
    def __init__(self, feedback: OwnFeedback) -> None:
        self._finder = AnswerFinder(feedback)

    def routes(self) -> Routes:
        return {("POST", "feedback"): self.store, ("GET", "feedback"): self.list}

    async def store(self, request: OperationRequest) -> Response:
        return await store_feedback(self._finder, request.body, request.principal, "copilotkit")

    async def list(self, request: OperationRequest) -> Response:
        return await list_feedback(self._finder, request.query, request.principal)
