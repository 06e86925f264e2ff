"""Resolves the `model` of a request to an agent or a model of the configuration; agents win over models.

A server with a single name accepts any name, or none, for it: many clients send a fixed name.
"""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from hashlib import sha256

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal
from rightseat.core.errors import BadRequest, ConfigError, RightseatError
from rightseat.core.runtime import Runtime


class ModelNotFound(RightseatError):
    code = "model_not_found"
    status = 404

    def __init__(self, name: str, what: str = "is not an agent or model of this server") -> None:
        super().__init__(f"{name!r} {what}. GET /models lists the available ones.")


class NoModelNamed(BadRequest):
    def __init__(self) -> None:
        super().__init__("`model` is missing. GET /models lists the available ones.")


class ModelNames:
    """`offered` are the names that this face lists; None is all. `fingerprint` is that of the server. `aliases` are
    patterns of further names, such as `claude-*`, with the agent or model that each stands for; the first one that
    matches counts. `face` is the type of the face, for errors in the configuration."""

    def __init__(
        self,
        runtime: Runtime,
        offered: Iterable[str] | None,
        auth: RouteAuth,
        fingerprint: str = "",
        *,
        face: str = "openai",
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self._runtime = runtime
        self._fingerprint = fingerprint
        self._auth = auth
        self._aliases = dict(aliases or {})
        known = {**runtime.agents, **runtime.models}
        if unknown := [name for name in offered or () if name not in known]:
            raise ConfigError(f"The face {face!r} offers {unknown[0]!r}, which is neither an agent nor a model.")
        for pattern, name in self._aliases.items():
            if name not in known:
                text = f"The alias {pattern!r} of the face {face!r} stands for {name!r}, which is neither an agent nor"
                raise ConfigError(f"{text} a model. Configured: {', '.join(sorted(known)) or 'none'}.")
        self._offered = None if offered is None else frozenset(offered)

    def check(self, name: str, principal: Principal) -> None:
        """Raises `InsufficientScope` before it reveals whether the name exists, then `ModelNotFound`."""
        self._auth.check_agent(principal, name)
        if name not in self._names():
            raise ModelNotFound(name[:200])

    def resolve(self, given: str | None, principal: Principal, warnings: list[str]) -> str:
        """The resolved name; `warnings` receives a sentence if it is neither the `given` one nor that of an alias.

        Raises what `check` raises, and `NoModelNamed` if no name is given and there are several.
        """
        if (alias := self.find_alias(given)) is not None:
            self.check(alias, principal)
            return alias
        name = self._only_name() or given
        if name is None:
            raise NoModelNamed
        self.check(name, principal)
        if name != given:
            what = "The request names no model" if given is None else f"This server has no model {given[:200]!r}"
            warnings.append(f"{what}; {name!r} is used, the only one available.")
        return name

    def find_alias(self, given: str | None) -> str | None:
        """What the name stands for; None for a configured name, which wins over every alias."""
        if given is None or given in self._names():
            return None
        return next((name for pattern, name in self._aliases.items() if fnmatchcase(given, pattern)), None)

    def fingerprint(self, name: str) -> str:
        """Changes with the version of rightseat and with the configuration of models and agents."""
        known = f"{self._fingerprint}\0{name}"
        return f"fp_{sha256(known.encode()).hexdigest()[:10]}"

    def is_agent(self, name: str) -> bool:
        return name in self._runtime.agents

    def list_names(self, principal: Principal) -> list[str]:
        return [name for name in self._names() if self._auth.may_use(principal, name)]

    def _only_name(self) -> str | None:
        """The only name, unless the operator listed names: then no other name is accepted."""
        names = {*self._runtime.agents, *self._runtime.models} if self._offered is None else set()
        return names.pop() if len(names) == 1 else None

    def _names(self) -> Iterator[str]:
        for name in {**self._runtime.agents, **self._runtime.models}:
            if self._offered is None or name in self._offered:
                yield name
