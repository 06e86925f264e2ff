"""Determines the last event of a run, and records for hooks and log lines where a run failed."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal, NamedTuple, Self

import msgspec

from rightseat.concurrency import is_cancelled
from rightseat.core import errors
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.events import RunFailed, RunFinished, Usage
from rightseat.core.full_storage import explain_full_storage
from rightseat.core.stream.reducer import Reducer

logger = logging.getLogger(__name__)

LastEvent = RunFinished | RunFailed
Source = Literal["runtime", "agent", "model", "tool"]
RunOperation = Literal["begin_run", "run_agent", "call_model", "call_tool", "save_thread"]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A failed run, as `on_error` hooks receive it. No field holds a message, an argument or a header.

    The client receives `code` and `message`. `source` is the component that failed, `operation` the operation in which
    it failed, and `target` the model or the tool of that operation. `agent` is the innermost agent, if an agent has
    called another, and `node` its innermost step, or the last step that ran. `duration_s` is the time since this
    process began the run.
    """

    code: str
    message: str
    source: Source
    operation: RunOperation
    target: str = ""
    agent: str = ""
    node: str = ""
    duration_s: float = 0.0

    def fields(self) -> dict[str, str | float]:
        """For a structured log line; without the message, which the line already contains."""
        known = msgspec.structs.asdict(self)
        return {name: value for name, value in known.items() if name != "message" and value != ""}


def set_usage(last: LastEvent, usage: Usage | None) -> LastEvent:
    """The last event with the usage of all model calls of the run, for faces that report it."""
    return msgspec.structs.replace(last, usage=usage) if isinstance(last, RunFinished) and usage else last


class FailureOrigin(NamedTuple):
    operation: RunOperation
    target: str


def mark_origin(error: BaseException, operation: RunOperation, target: str) -> None:
    """Attach the failed operation to an exception. The innermost mark is kept."""
    if not hasattr(error, ORIGIN):
        with contextlib.suppress(AttributeError):  # an exception class with slots
            setattr(error, ORIGIN, FailureOrigin(operation, target))


ORIGIN = "rightseat_origin"


class Outcome:
    """A context around the agent's run that turns an exception of the agent into the last event of the run.

    `StaleWriter` propagates, because another process owns the run and this one writes nothing more. It is also raised
    if this process is shutting down and leaves the run to another.
    """

    __slots__ = ("_epoch", "_failures", "_steps", "last")

    def __init__(self, failures: "FailureRecorder", steps: Steps, epoch: int) -> None:
        self.last: LastEvent = RunFinished("done")
        self._failures = failures
        self._steps = steps
        self._epoch = epoch

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, errors.StaleWriter) or not isinstance(error, Exception | asyncio.CancelledError):
            return False
        if self._steps.is_shutting_down:
            raise errors.StaleWriter(self._failures.run_id, self._epoch, self._epoch) from error
        self.last = self._failures.read(error)
        return True

    def read(self, event: LastEvent) -> None:
        """Record the last event of the agent."""
        self.last = self._failures.read_event(event)


class FailureRecorder:
    """Records and logs the failures of one run. Of several failures with the same code, the first is kept.

    `explain_end` returns why the run is being cancelled, for its user; an empty text if a person or a client did it.
    """

    def __init__(self, ask: Ask, reducer: Reducer, explain_end: Callable[[], str] = str) -> None:
        self._ask = ask
        self._explain_end = explain_end
        self._reducer = reducer
        self._known: dict[str, Failure] = {}
        self._started = time.monotonic()

    @property
    def run_id(self) -> str:
        return self._ask.run_id

    def read(self, error: BaseException, operation: RunOperation = "run_agent") -> LastEvent:
        """Return the event that the client receives. Only a `RightseatError` is shown; others are only logged."""
        run_id = self._ask.run_id
        if is_cancelled():
            if not isinstance(error, asyncio.CancelledError):
                logger.warning("run %s failed while it was cancelled", run_id, exc_info=error)
            return RunFinished("cancelled", reason=self._explain_end())
        origin = getattr(error, ORIGIN, None) or FailureOrigin(operation, "")
        error = explain_full_storage(error) if isinstance(error, Exception) else error
        source = source_of(error, origin.operation)
        if isinstance(error, errors.RightseatError):
            extra = self._note(RunFailed(error.code, error.message), source, origin)
            logger.warning("run %s failed: %s: %s", run_id, error.code, error.log_message, extra=extra)
            return RunFailed(error.code, error.message)
        failed = RunFailed(errors.InternalError.code, errors.InternalError(run_id).message)
        logger.error("run %s failed", run_id, exc_info=error, extra=self._note(failed, source, origin))
        return failed

    def read_event(self, event: LastEvent) -> LastEvent:
        """Record the agent's last event, which may be a failure. The failure's message is not logged."""
        if isinstance(event, RunFailed):
            extra = self._note(event, "agent", FailureOrigin("run_agent", ""))
            logger.warning("run %s failed: %s", self._ask.run_id, event.code, extra=extra)
        return event

    def of(self, last: RunFailed) -> Failure:
        """The failure behind the run's last event. It has few details if it happened in another process."""
        return self._known.get(last.code) or self._failure(last, "runtime", FailureOrigin("run_agent", ""))

    def _note(self, failed: RunFailed, source: Source, origin: FailureOrigin) -> dict[str, object]:
        failure = self._failure(failed, source, origin)
        self._known.setdefault(failed.code, failure)
        return {"fields": failure.fields()}

    def _failure(self, failed: RunFailed, source: Source, origin: FailureOrigin) -> Failure:
        return Failure(
            code=failed.code,
            message=failed.message,
            source=source,
            operation=origin.operation,
            target=origin.target,
            agent=self._reducer.agents[-1] if self._reducer.agents else self._ask.agent,
            node=self._reducer.step,
            duration_s=round(time.monotonic() - self._started, 3),
        )


def source_of(error: BaseException, operation: RunOperation) -> Source:
    """The class of a `RightseatError` gives its source. Any other exception is attributed to the operation."""
    match error:
        case errors.ModelError() | errors.ResponseTooLong() | errors.TooManyToolCalls():
            return "model"
        case errors.AgentError():
            return "agent"
        case errors.RightseatError():
            return "tool" if operation == "call_tool" else "runtime"
    sources: dict[RunOperation, Source] = {"run_agent": "agent", "call_model": "model", "call_tool": "tool"}
    return sources.get(operation, "runtime")
