"""What the user did in the page, as CopilotKit's `useLearnFromUserAction` and `useLearningContainers` send it."""

from typing import Any

import msgspec
from starlette.responses import Response

from rightseat.core.errors import BadRequest
from rightseat.faces._shared.responses import decode_body, json_response
from rightseat.faces.copilotkit.current.routing import OperationRequest, Routes
from rightseat.operations.own_annotations import OwnAnnotations, SentAnnotation


class AnnotationBody(msgspec.Struct):
    """`containers` comes with the type `set_learning_containers`, in place of a payload."""

    type: str = ""
    threadId: str = ""
    payload: dict[str, Any] | None = None
    containers: Any = msgspec.UNSET
    clientEventId: str | None = None
    occurredAt: str | None = None


class AnnotationOperations:
    def __init__(self, annotations: OwnAnnotations) -> None:
        self._annotations = annotations

    def routes(self) -> Routes:
        return {("POST", "annotate"): self.store}

    async def store(self, request: OperationRequest) -> Response:
        sent = decode_body(request.body, AnnotationBody)
        annotation = SentAnnotation(
            thread=sent.threadId,
            type=sent.type,
            payload=read_payload(sent),
            client_event_id=sent.clientEventId,
            occurred_at=sent.occurredAt,
        )
        stored = await self._annotations.add(request.principal, annotation)
        return json_response({"id": stored.id, "duplicate": stored.is_duplicate})


def read_payload(sent: AnnotationBody) -> dict[str, Any]:
    """Raises `BadRequest`."""
    payload = sent.payload or {}
    if sent.containers is msgspec.UNSET:
        return payload
    if "containers" in payload:
        raise BadRequest("Send `containers` beside the payload or in it, not both.")
    return {**payload, "containers": sent.containers}
