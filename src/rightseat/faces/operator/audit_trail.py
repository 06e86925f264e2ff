"""The last lines of the audit log."""

from starlette.responses import Response

from rightseat.core.runtime import Runtime
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.permissions import forbid
from rightseat.faces.operator.requests import OperatorRequest, Routes


class AuditRoute:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def routes(self) -> Routes:
        return {("GET", "audit"): self.list}

    async def list(self, request: OperatorRequest) -> Response:
        """The newest first. The lines are about all agents, so the right to watch only some of them is not enough."""
        if request.rights.watch is not None:
            forbid("watch", "*")
        return json_response({"lines": list(reversed(self._runtime.audit_trail.lines))})
