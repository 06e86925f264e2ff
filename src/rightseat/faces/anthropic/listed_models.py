"""`GET /v1/models`: the agents and models, in Anthropic's form."""

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from rightseat.core.ask import Principal
from rightseat.faces._shared.model_names import ModelNames
from rightseat.faces._shared.responses import json_response


class ListedModels:
    """All are on one page. `created_at` is the start of the server: names of a configuration have no other date."""

    def __init__(self, names: ModelNames) -> None:
        self._names = names
        self._since = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    async def list(self, body: bytes, http: Request, principal: Principal) -> Response:
        names = self._names.list_names(principal)
        page: dict[str, Any] = {"data": [self._describe(name) for name in names], "has_more": False}
        return json_response(page | {"first_id": names[0] if names else None, "last_id": names[-1] if names else None})

    async def show(self, body: bytes, http: Request, principal: Principal) -> Response:
        """An alias is shown under its own name, because clients look for the model that they will use."""
        name = http.path_params["model"]
        self._names.check(self._names.find_alias(name) or name, principal)
        return json_response(self._describe(name))

    def _describe(self, name: str) -> dict[str, Any]:
        return {"type": "model", "id": name, "display_name": name, "created_at": self._since}
