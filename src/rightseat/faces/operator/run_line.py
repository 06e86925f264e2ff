"""A run as a row of a list: its outcome, times and tokens, without any text of the conversation."""

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.events import DowngradedRun, RunFailed, RunFinished, Usage
from rightseat.core.run.outcome import LastEvent
from rightseat.limits.prices import Prices
from rightseat.operations.records import RunRecord


class RunTokens(msgspec.Struct, frozen=True, rename={"input": "in", "output": "out"}):
    """`cached` are the input tokens that the provider read from its cache."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None


class RunError(msgspec.Struct, frozen=True):
    """`message` is null in lists and for readers without the right to read: it may quote the conversation."""

    code: str
    message: str | None = None


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A field is null if its value is unknown.

    `outcome` is `running` until the run ends. `through` is the face that received the request, `flow` the flow that
    ran. `milliseconds` is the duration. `waited` is the time in milliseconds between the question of an
    earlier run and this run, which answers it. `kept` is false for a run that is not stored. `downgraded` has the model
    that a limit made answer, and the limit; only a single run has it, not those of lists. `feedback` is the vote of the
    run's user, `up` or `down`.
    """

    id: str
    thread: str
    agent: str
    owner: str
    outcome: str
    through: str | None = None
    flow: str | None = None
    began_at: str | None = None
    milliseconds: int | None = None
    waited: int | None = None
    model_calls: int | None = None
    tool_calls: int | None = None
    tokens: RunTokens | None = None
    cost: float | None = None
    error: RunError | None = None
    kept: bool = True
    downgraded: DowngradedRun | None = None
    feedback: str | None = None


class StartedRun(msgspec.Struct, frozen=True):
    """The ids of a run that was started, and of its thread."""

    thread: str
    run: str


class StoppedRun(msgspec.Struct, frozen=True):
    """`stopped` is false if the run had ended before."""

    stopped: bool


def build_run_line(
    run: RunRecord, prices: Prices, failure: RunFailed | None = None, *, is_kept: bool = True
) -> RunLine:
    """`failure` is the last event of a failed run, if the reader may see its message."""
    return RunLine(
        id=run.id,
        thread=run.thread,
        agent=run.agent,
        owner=run.user,
        outcome=run.outcome or "running",
        through=run.face,
        flow=run.flow,
        began_at=run.started_at,
        milliseconds=to_milliseconds(run.seconds),
        waited=to_milliseconds(run.waited_seconds),
        model_calls=run.model_calls,
        tool_calls=run.tool_calls,
        tokens=None
        if run.input_tokens is None
        else RunTokens(run.input_tokens, run.output_tokens, run.cache_read_tokens),
        cost=prices.cost(run.models),
        error=build_run_error(run.code, failure),
        kept=is_kept,
        feedback=run.feedback,
    )


def to_milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def count_tokens(usage: Usage | None) -> RunTokens | None:
    return None if usage is None else RunTokens(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)


def build_run_error(code: str | None, failure: RunFailed | None) -> RunError | None:
    if failure is not None:
        return RunError(failure.code, failure.message)
    return RunError(code) if code is not None else None


def build_news_line(ask: Ask, last: LastEvent | None, *, has_words: bool) -> RunLine:
    """A run that begins, or ends with its last event. Times and tokens are in the lists."""
    failure = last if isinstance(last, RunFailed) else None
    outcome = "failed" if failure else last.outcome if isinstance(last, RunFinished) else "running"
    return RunLine(
        id=ask.run_id,
        thread=ask.thread_id,
        agent=ask.agent,
        owner=ask.principal.id,
        outcome=outcome,
        through=ask.face or None,
        error=build_run_error(failure.code if failure else None, failure if has_words else None),
    )
