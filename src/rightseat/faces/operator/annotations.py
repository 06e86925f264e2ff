"""What users did in pages: the annotations that pages have sent, with the threads that they belong to."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.queries import read_annotation_query
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.operations.annotations import AnnotationRow
from rightseat.operations.service import Operations


class AnnotationPage(msgspec.Struct, frozen=True):
    """The newest first. `next` is the `after` of the next page."""

    annotations: Sequence[AnnotationRow]
    next: str | None


class AnnotationRoutes:
    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def routes(self) -> Routes:
        return {("GET", "annotations"): self.list}

    async def list(self, request: OperatorRequest) -> Response:
        page = await self._operations.list_annotations(request.operator, read_annotation_query(request))
        return json_response(AnnotationPage(page.rows, page.next))
