"""What a client may name as its model: an agent, or a model of the configuration. Of one name, the agent's wins.

Where the server has one name only, any other name, or none, means that one: clients often have a fixed name.
"""

import time
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from rightseat.access.door import Door
from rightseat.core.ask import Principal
from rightseat.core.errors import ConfigError
from rightseat.core.runtime import Runtime
from rightseat.faces.openai.failures import BadRequest, ModelNotFound


class Names:
    """`offered` are the names that this face shows; None is all of them."""

    def __init__(self, runtime: Runtime, offered: Iterable[str] | None, door: Door) -> None:
        self._runtime = runtime
        self._door = door
        self._since = int(time.time())
        known = {**runtime.agents, **runtime.models}
        if unknown := [name for name in offered or () if name not in known]:
            raise ConfigError(f"The face 'openai' offers {unknown[0]!r}, which is no agent and no model.")
        self._offered = None if offered is None else frozenset(offered)

    def check(self, name: str, principal: Principal) -> None:
        """Raises `OutOfScope` before anything is said of whether there is such a name, then `ModelNotFound`."""
        self._door.check(principal, name)
        if name not in self._all():
            raise ModelNotFound(name[:200])

    def resolve(self, given: str | None, principal: Principal, warnings: list[str]) -> str:
        """The name that is meant; `warnings` receives a sentence where that is not the `given` one.

        Raises what `check` raises, and `BadRequest` where no name is given and there are several.
        """
        name = self._only() or given
        if name is None:
            raise BadRequest("`model` is missing. GET /models lists those that you may use.", "model")
        self.check(name, principal)
        if name != given:
            what = "The request names no model" if given is None else f"This server has no model {given[:200]!r}"
            warnings.append(f"{what}; {name!r} answers, the only one that it serves.")
        return name

    def fingerprint(self, name: str) -> str:
        """Changes with the version of rightseat and with the configuration of models and agents."""
        known = f"{self._runtime.fingerprint}\0{name}"
        return f"fp_{sha256(known.encode()).hexdigest()[:10]}"

    def is_agent(self, name: str) -> bool:
        return name in self._runtime.agents

    def listed(self, principal: Principal) -> dict[str, Any]:
        found = [self.described(name) for name in self._all() if self._door.may(principal, name)]
        return {"object": "list", "data": found}

    def described(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self._since, "owned_by": "rightseat"}

    def _only(self) -> str | None:
        """The one name that there is. With a list of names the operator has said that no others will do."""
        names = {*self._runtime.agents, *self._runtime.models} if self._offered is None else set()
        return names.pop() if len(names) == 1 else None

    def _all(self) -> Iterator[str]:
        for name in {**self._runtime.agents, **self._runtime.models}:
            if self._offered is None or name in self._offered:
                yield name
