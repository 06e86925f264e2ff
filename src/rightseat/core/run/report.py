"""Logs one line for each run that ends in this process."""

import logging
import time

from rightseat.core.ask import Ask
from rightseat.core.events import RunFailed, RunFinished, Usage
from rightseat.core.usage import current_usage

logger = logging.getLogger("rightseat.runs")


def log_run(ask: Ask, last: RunFinished | RunFailed, started: float) -> None:
    """`started` is by `time.monotonic`."""
    if not logger.isEnabledFor(logging.INFO):
        return
    seconds, usage = time.monotonic() - started, current_usage()
    logger.info(
        "run %s %s: thread %s, agent %s, face %s, %.2f s, %s",
        ask.run_id,
        describe_outcome(last),
        ask.thread_id,
        ask.agent,
        ask.face or "-",
        seconds,
        describe_tokens(usage),
        extra={"fields": fields(ask, last, seconds, usage)},
    )


def describe_outcome(last: RunFinished | RunFailed) -> str:
    match last:
        case RunFailed(code=code):
            return f"failed {code}"
        case RunFinished(outcome="done"):
            return "finished"
        case RunFinished(outcome="cancelled"):
            return "cancelled"
        case RunFinished(interrupts=interrupts):
            return "waiting for approval" if interrupts else "waiting for the client"


def describe_tokens(usage: Usage | None) -> str:
    return "tokens unknown" if usage is None else f"{usage.input_tokens} tokens in, {usage.output_tokens} tokens out"


def fields(
    ask: Ask, last: RunFinished | RunFailed, seconds: float, usage: Usage | None
) -> dict[str, str | int | float]:
    """For a JSON log line, which has the ids of run and thread already."""
    known: dict[str, str | int | float] = {
        "agent": ask.agent,
        "face": ask.face,
        "outcome": "failed" if isinstance(last, RunFailed) else last.outcome,
        "code": last.code if isinstance(last, RunFailed) else "",
        "duration_s": round(seconds, 3),
    }
    if usage is not None:
        known |= {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    return {name: value for name, value in known.items() if value != ""}
