"""Counts the tokens of a run: those of all its model calls, in agents, flows and tools.

The count is in the context of the run's task, which tasks that the run starts inherit.
"""

from collections.abc import Sequence
from contextvars import ContextVar

import msgspec

from rightseat.core.events import Usage
from rightseat.core.tracing import NO_OBSERVER, Span


class ModelUsage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The calls of one model in a run. `name` is its name in the configuration, `model` that of the provider's model.

    `usage` is None if the model has reported none.
    """

    name: str
    calls: int
    usage: Usage | None = None
    model: str | None = None


class RunTotals(msgspec.Struct, frozen=True):
    """The sums over the spans of a run. `flow` is the first flow that ran in it, as `plugin.flow`."""

    models: Sequence[ModelUsage] = ()
    tool_calls: int = 0
    flow: str | None = None

    @property
    def model_calls(self) -> int:
        return sum(one.calls for one in self.models)

    @property
    def usage(self) -> Usage | None:
        """None if no model has reported any."""
        known = [one.usage for one in self.models if one.usage is not None]
        return add_usage(*known) if known else None


def add_usage(*parts: Usage) -> Usage:
    return Usage(
        sum(one.input_tokens for one in parts),
        sum(one.output_tokens for one in parts),
        sum(one.cache_read_tokens for one in parts),
        sum(one.cache_written_tokens for one in parts),
        sum(one.reasoning_tokens for one in parts),
    )


class UsageCount:
    """`total` is None until a model reports its usage."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total: Usage | None = None

    def add(self, usage: Usage) -> None:
        self.total = add_usage(self.total, usage) if self.total else usage


_count: ContextVar[UsageCount | None] = ContextVar("usage", default=None)


def start_count() -> None:
    """Count the usage of this task and of the tasks that it starts, from zero."""
    _count.set(UsageCount())


def count_usage(usage: Usage, span: Span = NO_OBSERVER) -> None:
    """Add the usage of one model call to that of the run, and note it on the span of the call."""
    if count := _count.get():
        count.add(usage)
    span.note(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    if usage.cache_read_tokens or usage.cache_written_tokens:
        span.note(cache_read_tokens=usage.cache_read_tokens, cache_written_tokens=usage.cache_written_tokens)
    if usage.reasoning_tokens:
        span.note(reasoning_tokens=usage.reasoning_tokens)


def current_usage() -> Usage | None:
    """The usage so far; None if no model has reported any, and outside of a run."""
    count = _count.get()
    return count.total if count else None
