"""The dependencies of a flow, and the context that each of its steps receives."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rightseat.core.tracing import LazySpan
from rightseat.core.types import JsonValue
from rightseat.plugins.definition import ON_ERROR, Flow, Plugin, Step
from rightseat.plugins.model_calls import StreamingModelCaller
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.results import StepResult
from rightseat.plugins.sandbox import ToolRunner
from rightseat.plugins.scope import Scope
from rightseat.plugins.sql.databases import Databases


class SupportsRedaction(Protocol):
    """Removes secrets from everything that is displayed or stored."""

    def redact_text(self, text: str) -> str: ...

    def redact_value(self, value: JsonValue) -> JsonValue: ...


class ServeStep(Protocol):
    """`request` is what the step would send; `perform` makes the call, which has an effect unless `is_safe`."""

    async def __call__(
        self,
        context: "StepContext",
        request: dict[str, JsonValue],
        perform: Callable[[], Awaitable[StepResult]],
        *,
        is_safe: bool,
    ) -> StepResult: ...


@dataclass(frozen=True, slots=True)
class Dependencies:
    """`is_dry`: requests, queries and tools are not run; their output is made up from the schemas."""

    model: StreamingModelCaller
    sender: OperationClient
    redactor: SupportsRedaction
    databases: Databases | None = None
    tool_runner: ToolRunner | None = None
    is_dry: bool = False
    expires_after: float = 7 * 24 * 3600.0
    """Seconds until a question to a person expires."""
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep)
    store_artifacts: Callable[[StepResult], Awaitable[StepResult]] | None = None
    """Stores the artifacts of a result for download and returns the result with their ids."""
    user_token: str | None = field(default=None, repr=False)
    """The token of the signed-in user."""
    serve: "ServeStep | None" = None
    """Answers every step that reaches more than models, in place of its call: for evaluations, which run no effect."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """Everything that one execution of a step reads. `timeout` is in seconds, for one attempt; `seconds_left` remain of
    the timeout of the flow, for all attempts and the pauses between them.

    `span` starts with the first work of the step. `key` is the same whenever this step is repeated, so that an API can
    recognize a duplicate request.
    """

    plugin: Plugin
    flow: Flow
    step: Step
    scope: Scope
    dependencies: Dependencies
    timeout: float
    span: LazySpan
    key: str = ""
    seconds_left: float = math.inf
    is_schema_retry: bool = False
    """Whether a response of the attempt before did not fit the schema of the step."""

    @property
    def name(self) -> str:
        return self.step.name or ON_ERROR

    @property
    def params(self) -> Mapping[str, JsonValue]:
        return self.step.params

    def text(self, name: str, default: str = "") -> str:
        value = self.step.params.get(name)
        return value if isinstance(value, str) else default
