"""What a flow needs of the world, and what one of its calls gets."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rightseat.core.values import JsonValue
from rightseat.plugins.definition import Flow, Plugin, Step
from rightseat.plugins.operations import Sender
from rightseat.plugins.results import Result
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.scene import Scene
from rightseat.plugins.speaking import Voice
from rightseat.plugins.sql.databases import Databases


class Redacting(Protocol):
    """Takes secrets out of whatever is shown or kept."""

    def text(self, text: str) -> str: ...

    def value(self, value: JsonValue) -> JsonValue: ...


@dataclass(frozen=True, slots=True)
class Means:
    """`is_dry`: nothing is sent, queried or run; what it would have given is made up from the schemas."""

    voice: Voice
    sender: Sender
    redactor: Redacting
    databases: Databases | None = None
    tool_runner: ToolRunner | None = None
    is_dry: bool = False
    expires_after: float = 7 * 24 * 3600.0
    """Seconds after which a question to a person is no longer open."""
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)
    keep: Callable[[Result], Awaitable[Result]] | None = None
    """Puts the artifacts of a result where they can be fetched from, and gives the result with their ids."""
    token: str | None = field(default=None, repr=False)
    """That of whoever is signed in."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One step at its moment. `limit` are the seconds that it has.

    `key` is the same whenever this very step is done again: an API can notice by it that a request comes twice.
    """

    plugin: Plugin
    flow: Flow
    step: Step
    scene: Scene
    means: Means
    limit: float
    key: str = ""

    @property
    def name(self) -> str:
        return self.step.name or ON_ERROR

    @property
    def params(self) -> Mapping[str, JsonValue]:
        return self.step.params

    def text(self, name: str, default: str = "") -> str:
        value = self.step.params.get(name)
        return value if isinstance(value, str) else default


ON_ERROR = "on_error"
"""What the step without a name is called in events, records and scripts."""
