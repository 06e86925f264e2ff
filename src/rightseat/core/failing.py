"""How a run ended, as its client is told; and where a run failed, as hooks and log lines have it."""

import asyncio
import contextlib
import logging
import time
from types import TracebackType
from typing import Literal, NamedTuple, Self

import msgspec

from rightseat.core.ask import Ask
from rightseat.core.cancelling import is_cancelled
from rightseat.core.engine import Steps
from rightseat.core.errors import (
    AgentError,
    AnswerTooLong,
    InternalError,
    ModelError,
    RightseatError,
    StaleWriter,
    TooManyCalls,
)
from rightseat.core.events import RunFailed, RunFinished
from rightseat.core.folding import Fold

logger = logging.getLogger(__name__)

Last = RunFinished | RunFailed
Source = Literal["runtime", "agent", "model", "tool"]
Operation = Literal["begin_run", "run_agent", "call_model", "call_tool", "save_thread"]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A failed run, as `on_error` hooks receive it. No field holds a message, an argument or a header.

    `code` and `message` are what the client receives. `source` is the component that failed, `operation` what the run
    was doing, and `target` the model or the tool of that operation. `agent` is the innermost agent, where one has
    called another, and `node` its innermost step, or the last one that ran. `duration_s` is the time since this process
    began the run.
    """

    code: str
    message: str
    source: Source
    operation: Operation
    target: str = ""
    agent: str = ""
    node: str = ""
    duration_s: float = 0.0

    def fields(self) -> dict[str, str | float]:
        """For a structured log line; without the message, which the line has already."""
        known = msgspec.structs.asdict(self)
        return {name: value for name, value in known.items() if name != "message" and value != ""}


class Origin(NamedTuple):
    operation: Operation
    target: str


def mark(error: BaseException, operation: Operation, target: str) -> None:
    """Note on an exception what it came from. The innermost mark stays."""
    if not hasattr(error, ORIGIN):
        with contextlib.suppress(AttributeError):  # an exception class with slots
            setattr(error, ORIGIN, Origin(operation, target))


ORIGIN = "rightseat_origin"


class Outcome:
    """How an agent ended, around its answer: an exception of the agent becomes the last event of the run.

    `StaleWriter` goes on, because another process has the run and this one writes nothing more. So it is where the
    process leaves the run to another.
    """

    __slots__ = ("_epoch", "_failures", "_steps", "last")

    def __init__(self, failures: "Failures", steps: Steps, epoch: int) -> None:
        self.last: Last = RunFinished("done")
        self._failures = failures
        self._steps = steps
        self._epoch = epoch

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, StaleWriter) or not isinstance(error, Exception | asyncio.CancelledError):
            return False
        if self._steps.is_leaving:
            raise StaleWriter(self._failures.run_id, self._epoch, self._epoch) from error
        self.last = self._failures.read(error)
        return True

    def read(self, event: Last) -> None:
        """The last event of the agent."""
        self.last = self._failures.read_event(event)


class Failures:
    """Reads and logs the failures of one run. Of several with one code the first counts."""

    def __init__(self, ask: Ask, fold: Fold) -> None:
        self._ask = ask
        self._fold = fold
        self._known: dict[str, Failure] = {}
        self._started = time.monotonic()

    @property
    def run_id(self) -> str:
        return self._ask.run_id

    def read(self, error: BaseException, operation: Operation = "run_agent") -> Last:
        """What the client is told. An error of ours it may see; any other goes to the server's log alone."""
        run_id = self._ask.run_id
        if is_cancelled():
            if not isinstance(error, asyncio.CancelledError):
                logger.warning("run %s failed while it was cancelled", run_id, exc_info=error)
            return RunFinished("cancelled")
        origin = getattr(error, ORIGIN, None) or Origin(operation, "")
        source = source_of(error, origin.operation)
        if isinstance(error, RightseatError):
            extra = self._note(RunFailed(error.code, error.message), source, origin)
            logger.warning("run %s failed: %s: %s", run_id, error.code, error.log_message, extra=extra)
            return RunFailed(error.code, error.message)
        failed = RunFailed(InternalError.code, InternalError(run_id).message)
        logger.error("run %s failed", run_id, exc_info=error, extra=self._note(failed, source, origin))
        return failed

    def read_event(self, event: Last) -> Last:
        """The last event of an agent, which may say that the agent failed. Its own words are not logged here."""
        if isinstance(event, RunFailed):
            extra = self._note(event, "agent", Origin("run_agent", ""))
            logger.warning("run %s failed: %s", self._ask.run_id, event.code, extra=extra)
        return event

    def of(self, last: RunFailed) -> Failure:
        """The failure of a run that ended this way. Another process may have seen it happen; then little is known."""
        return self._known.get(last.code) or self._failure(last, "runtime", Origin("run_agent", ""))

    def _note(self, failed: RunFailed, source: Source, origin: Origin) -> dict[str, object]:
        failure = self._failure(failed, source, origin)
        self._known.setdefault(failed.code, failure)
        return {"failure": failure.fields()}

    def _failure(self, failed: RunFailed, source: Source, origin: Origin) -> Failure:
        return Failure(
            code=failed.code,
            message=failed.message,
            source=source,
            operation=origin.operation,
            target=origin.target,
            agent=self._fold.agents[-1] if self._fold.agents else self._ask.agent,
            node=self._fold.step,
            duration_s=round(time.monotonic() - self._started, 3),
        )


def source_of(error: BaseException, operation: Operation) -> Source:
    """An error of ours says by its class where it comes from. Any other is the fault of the code that was running."""
    match error:
        case ModelError() | AnswerTooLong() | TooManyCalls():
            return "model"
        case AgentError():
            return "agent"
        case RightseatError():
            return "tool" if operation == "call_tool" else "runtime"
    sources: dict[Operation, Source] = {"run_agent": "agent", "call_model": "model", "call_tool": "tool"}
    return sources.get(operation, "runtime")
