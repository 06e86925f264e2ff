"""The last lines of the audit log: those of the store, or without one those of this process."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.operations.audit import AuditLine
from rightseat.operations.service import Operations


class AuditPage(msgspec.Struct, frozen=True):
    """The newest first."""

    lines: Sequence[AuditLine]


class AuditRoute:
    def __init__(self, operations: Operations) -> None:
        self._operations = operations

    def routes(self) -> Routes:
        return {("GET", "audit"): self.list}

    async def list(self, request: OperatorRequest) -> Response:
        return json_response(AuditPage(await self._operations.list_audit(request.operator)))
