"""Runs a stored run again with changes: the replay of a case that is never written.

An operator has one rerun at a time, and a process a few. Each is bounded in time and in model calls, and ends with the
request that began it. Its events, its thread and its files are in memory and nowhere else.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from rightseat.app.builder import redactor_of
from rightseat.config import Config
from rightseat.core.errors import BadRequest, InternalError, RightseatError
from rightseat.core.events import Event
from rightseat.core.ids import new_id
from rightseat.core.types import JsonValue
from rightseat.evals.attempts import Attempt
from rightseat.evals.cases import RecordedCall, RecordedRequest
from rightseat.evals.changes import check_places
from rightseat.evals.eval_meter import EvalMeter, EvalMetering
from rightseat.evals.recording import MAX_CASE_CHARS, PinnedCase, PinOptions, build_case
from rightseat.evals.replay_runtime import open_replay_runtime
from rightseat.evals.replayed_case import ReplayedCase, check_case
from rightseat.evals.sources import NotRecorded, PinnedTurns, Sources, TooLargeToPin, find_conversation
from rightseat.operations.audit_lines import write_line
from rightseat.operations.evals import SharedModels
from rightseat.operations.reruns import (
    RecordedResult,
    RerunBusy,
    RerunCall,
    RerunForm,
    RerunMessage,
    RerunOutcome,
    RunChanges,
)

logger = logging.getLogger(__name__)

PURPOSE = "rerun"
"""Of the model calls in the usage report."""
MAX_RERUN_S = 300.0
MAX_MODEL_CALLS = 50
MAX_RERUNS = 4
"""That a process runs at once."""


class TaskRerun:
    """A `Rerun` in a task of its own, which ends within `MAX_RERUN_S` even if its events are not read.

    `free` is called when it has ended."""

    def __init__(self, replaying: "Replaying", free: Callable[[], object]) -> None:
        self._lines: asyncio.Queue[Event | RerunOutcome] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(replaying))
        self._task.add_done_callback(lambda _: free())

    async def read(self) -> Event | RerunOutcome:
        return await self._lines.get()

    async def aclose(self) -> None:
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _run(self, replaying: "Replaying") -> None:
        try:
            async with asyncio.timeout(MAX_RERUN_S):
                outcome = await replaying.run(self._lines.put_nowait)
        except TimeoutError:
            outcome = make_failure(f"It was stopped after {MAX_RERUN_S:g} seconds.")
        except RightseatError as error:
            outcome = make_failure(error.message)
        except Exception:
            failure = InternalError(new_id("request"))
            logger.exception("%s: a run could not be run again", failure.message)
            outcome = make_failure(failure.message)
        self._lines.put_nowait(outcome)


@dataclass(frozen=True, slots=True)
class Replaying:
    config: Config
    agent: str
    pinned: PinnedCase
    changes: RunChanges
    models: SharedModels
    operator: str

    async def run(self, observe: Callable[[Event], object]) -> RerunOutcome:
        models = self.models
        metering = EvalMetering(
            models.prices, ledger=models.ledger, purpose=PURPOSE, user=self.operator, max_calls=MAX_MODEL_CALLS
        )
        meter = EvalMeter(metering, self.agent)
        async with open_replay_runtime(self.config, models.by_name) as replay:
            replayed = ReplayedCase(
                replay.runtime, meter, self.agent, self.pinned.case, self.changes.missing, self.pinned.files, observe
            )
            return describe_attempt(await replayed.run(1))


class Reruns:
    """`turn` is held while a case is built, which is work for the processor."""

    def __init__(self, config: Config, sources: Sources, models: SharedModels, turn: asyncio.Lock) -> None:
        self._config, self._sources, self._models, self._turn = config, sources, models, turn
        self._running: set[str] = set()

    async def describe(self, run: str) -> RerunForm:
        """Raises `NotRecorded`."""
        conversation, pinned = await self._build(run)
        agent = pinned.case.agent or ""
        options = self._config.agents[agent].options if agent in self._config.agents else None
        instructions = getattr(options, "instructions", None)
        temperature = pinned.case.parameters.get("temperature")
        (turn,) = pinned.case.turns
        history = [RerunMessage(role, text) for one in pinned.case.history for role, text in one.items()]
        runs = conversation.turns[0].runs
        return RerunForm(
            agent=agent,
            thread=None if runs[0].is_transient else runs[0].thread,
            instructions=redactor_of(self._config).redact_text(instructions) if instructions else instructions,
            model=getattr(options, "model", None),
            models=list(self._config.models),
            temperature=float(temperature) if isinstance(temperature, int | float) else None,
            messages=[*history, RerunMessage("user", turn.text)],
            results=[describe_recorded(item) for item in pinned.case.recorded],
            runs=[one.run for one in runs],
            notes=pinned.notes,
        )

    async def start(self, run: str, changes: RunChanges, operator: str) -> TaskRerun:
        """Raises `NotRecorded`, `BadRequest` and `RerunBusy`."""
        if operator in self._running:
            raise RerunBusy("You are running a run again already. Stop it, or wait for its end.")
        if len(self._running) >= MAX_RERUNS:
            raise RerunBusy(f"This server is running {MAX_RERUNS} runs again already. Try again in a minute.")
        self._running.add(operator)
        try:
            _, pinned = await self._build(run, changes)
            agent = pinned.case.agent or ""
            config = vary(self._config, agent, changes)
            replaying = Replaying(config, agent, pinned, changes, self._models, operator)
            write_line("%s ran run %s again", operator, run)
            return TaskRerun(replaying, lambda: self._running.discard(operator))
        except BaseException:
            self._running.discard(operator)
            raise

    async def _build(self, run: str, changes: RunChanges | None = None) -> tuple[PinnedTurns, PinnedCase]:
        async with self._turn:
            conversation = await find_conversation(self._sources, run)
            if conversation.run is None:
                raise NotRecorded(f"{run[:100]!r} is a thread. Only a run can be run again.")
            options = PinOptions(name="rerun", keeps_personal_data=True, changes=changes)
            pinned = await asyncio.to_thread(build_changed, conversation, options)
        return conversation, pinned


def build_changed(conversation: PinnedTurns, options: PinOptions) -> PinnedCase:
    """Raises `NotRecorded`, and `BadRequest` for changes that do not fit the run."""
    changes = options.changes
    if changes is not None:
        if len(changes.instructions or "") > MAX_CASE_CHARS:
            raise TooLargeToPin(f"Instructions have at most {MAX_CASE_CHARS:,} characters.")
        plain = build_case(conversation, replace(options, changes=None), None).case
        check_places(changes.messages, len(plain.history) + 1)
        check_places(changes.results, len(plain.recorded))
    pinned = build_case(conversation, options, None)
    check_case(pinned.case)
    return pinned


def vary(config: Config, agent: str, changes: RunChanges) -> Config:
    """The configuration with other instructions or another model for the agent. Raises `BadRequest`."""
    part = config.agents.get(agent)
    if part is None:
        raise BadRequest(f"The agent {agent!r} is not in the configuration any more, so it cannot be run again.")
    wanted = {name: value for name in ("instructions", "model") if (value := getattr(changes, name)) is not None}
    for name in wanted:
        if not hasattr(part.options, name):
            raise BadRequest(f"The agent {agent!r} of type {part.type} has no {name} to change.")
    if changes.model is not None and changes.model not in config.models:
        raise BadRequest(f"No model is named {changes.model[:100]!r}.")
    changed = replace(part, options=part.options.model_copy(update=wanted))
    return replace(config, agents={**config.agents, agent: changed})


def describe_recorded(item: RecordedCall | RecordedRequest) -> RecordedResult:
    if isinstance(item, RecordedRequest):
        return RecordedResult(f"{item.flow} {item.step}", item.request, write_result(item.result), item.error, None)
    approval = item.approval if isinstance(item.approval, str) or item.approval is None else "answered"
    return RecordedResult(item.tool, item.arguments, write_result(item.result), item.error, approval)


def write_result(result: JsonValue) -> str:
    if isinstance(result, str):
        return result
    return "" if result is None else json.dumps(result, ensure_ascii=False, indent=2)


def describe_attempt(attempt: Attempt) -> RerunOutcome:
    return RerunOutcome(
        outcome=attempt.run_outcome,
        text=attempt.text,
        calls=[RerunCall(one.name, one.arguments, one.served, one.result, one.error) for one in attempt.tool_calls],
        model_calls=attempt.model_calls,
        input_tokens=attempt.input_tokens,
        output_tokens=attempt.output_tokens,
        cost=attempt.cost,
        seconds=attempt.seconds,
        diverged=attempt.diverged,
        error=attempt.error,
    )


def make_failure(message: str) -> RerunOutcome:
    return RerunOutcome(outcome="failed", error=message)
