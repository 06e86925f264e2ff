"""Resolves the `model` of a request to an agent or a model of the configuration; agents win over models.

A server with a single name accepts any name, or none, for it: many clients send a fixed name.
"""

import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from rightseat.access.authenticator import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.errors import ConfigError
from rightseat.core.runtime import Runtime
from rightseat.faces.openai.errors import InvalidRequest, ModelNotFound


class ModelNames:
    """`offered` are the names that this face lists; None is all. `fingerprint` is that of the server."""

    def __init__(self, runtime: Runtime, offered: Iterable[str] | None, auth: RouteAuth, fingerprint: str = "") -> None:
        self._runtime = runtime
        self._fingerprint = fingerprint
        self._auth = auth
        self._since = int(time.time())
        known = {**runtime.agents, **runtime.models}
        if unknown := [name for name in offered or () if name not in known]:
            raise ConfigError(f"The face 'openai' offers {unknown[0]!r}, which is neither an agent nor a model.")
        self._offered = None if offered is None else frozenset(offered)

    def check(self, name: str, principal: Principal) -> None:
        """Raises `InsufficientScope` before it reveals whether the name exists, then `ModelNotFound`."""
        self._auth.check_agent(principal, name)
        if name not in self._names():
            raise ModelNotFound(name[:200])

    def resolve(self, given: str | None, principal: Principal, warnings: list[str]) -> str:
        """The resolved name; `warnings` receives a sentence if it is not the `given` one.

        Raises what `check` raises, and `InvalidRequest` if no name is given and there are several.
        """
        name = self._only_name() or given
        if name is None:
            raise InvalidRequest("`model` is missing. GET /models lists the available ones.", "model")
        self.check(name, principal)
        if name != given:
            what = "The request names no model" if given is None else f"This server has no model {given[:200]!r}"
            warnings.append(f"{what}; {name!r} is used, the only one available.")
        return name

    def fingerprint(self, name: str) -> str:
        """Changes with the version of rightseat and with the configuration of models and agents."""
        known = f"{self._fingerprint}\0{name}"
        return f"fp_{sha256(known.encode()).hexdigest()[:10]}"

    def is_agent(self, name: str) -> bool:
        return name in self._runtime.agents

    def list_models(self, principal: Principal) -> dict[str, Any]:
        found = [self.describe_model(name) for name in self._names() if self._auth.may_use(principal, name)]
        return {"object": "list", "data": found}

    def describe_model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._since, "owned_by": "rightseat"}

    def _only_name(self) -> str | None:
        """The only name, unless the operator listed names: then no other name is accepted."""
        names = {*self._runtime.agents, *self._runtime.models} if self._offered is None else set()
        return names.pop() if len(names) == 1 else None

    def _names(self) -> Iterator[str]:
        for name in {**self._runtime.agents, **self._runtime.models}:
            if self._offered is None or name in self._offered:
                yield name
