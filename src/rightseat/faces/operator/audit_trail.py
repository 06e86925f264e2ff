"""The last lines of the audit log: those of the store, or without one those of this process."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from rightseat.core.read_limits import hold_read
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.permissions import forbid
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.operations.audit import MAX_LINES, AuditLine, AuditQuery


class AuditPage(msgspec.Struct, frozen=True):
    """The newest first."""

    lines: Sequence[AuditLine]


class AuditRoute:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def routes(self) -> Routes:
        return {("GET", "audit"): self.list}

    async def list(self, request: OperatorRequest) -> Response:
        """The newest first. The lines are about all agents, so the right to watch only some of them is not enough."""
        if request.rights.watch is not None:
            forbid("watch", "*")
        trail = self._runtime.audit_trail
        if trail.store is None:
            return json_response(AuditPage(list(reversed(trail.lines))))
        await hold_read()
        await trail.write()
        return json_response(AuditPage(await trail.store.list(AuditQuery(limit=MAX_LINES))))
