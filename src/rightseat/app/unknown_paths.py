"""Responses for paths and methods that no route serves, in the error format of the face that the path belongs to.

A face defines `refuse_path(method, path, status, options)` for that; `path` is the part below its own.
"""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from rightseat.config import ConfiguredPart
from rightseat.faces._shared.responses import json_response

CODES = {404: "not_found", 405: "method_not_allowed"}
MAX_PATH_CHARS = 200


class UnknownPaths:
    """Handles the statuses 404 and 405 of the router."""

    def __init__(self, faces: Sequence[ConfiguredPart]) -> None:
        refusing = [face for face in faces if hasattr(face.module, "refuse_path")]
        self._faces = sorted(refusing, key=lambda face: len(path_of(face)), reverse=True)

    async def refuse(self, request: Request, error: Exception) -> Response:
        status, headers = getattr(error, "status_code", 404), getattr(error, "headers", None) or {}
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        response = self._write(request.method, path, status)
        response.headers.update(headers)
        return response

    def _write(self, method: str, path: str, status: int) -> Response:
        for face in self._faces:
            if f"{path}/".startswith(f"{path_of(face)}/"):
                response: Response = face.module.refuse_path(method, path[len(path_of(face)) :], status, face.options)
                return response
        return json_response({"error": CODES[status], "message": explain(method, path, status)}, status)


def explain(method: str, path: str, status: int) -> str:
    shown = path if len(path) <= MAX_PATH_CHARS else f"{path[:MAX_PATH_CHARS]}…"
    problem = f"{method} is not supported at {shown}" if status == 405 else f"There is no route {shown}"
    return f"{problem}. GET / lists the addresses of this server."


def path_of(face: ConfiguredPart) -> str:
    return str(getattr(face.options, "path", "")).rstrip("/")
