"""Runs the cases of datasets: some at once, within a budget, and none again whose attempt is stored."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from typing import Literal

import msgspec

from rightseat.core.ids import new_id
from rightseat.evals.attempts import Attempt, Score
from rightseat.evals.cases import Case, MissingPolicy
from rightseat.evals.dataset import DatasetFile
from rightseat.evals.eval_meter import EvalMeter, EvalMetering, OutOfBudget
from rightseat.evals.judge import NewVerdicts
from rightseat.evals.replay_runtime import ReplayRuntime
from rightseat.evals.replayed_case import ReplayedCase
from rightseat.evals.result_store import ResultStore
from rightseat.evals.results import (
    AttemptResult,
    CaseResult,
    EvalResult,
    Variant,
    make_attempt_result,
    make_case_result,
    make_totals,
)
from rightseat.evals.scorers import score_attempt
from rightseat.limits.kinds import NANO
from rightseat.limits.meter import METER

logger = logging.getLogger(__name__)

UNCACHED_FIELDS = {"scorers", "expected", "tags", "source"}
"""Fields of a case that no agent receives."""


@dataclass(frozen=True, slots=True)
class PlannedCase:
    file: DatasetFile
    case: Case
    agent: str
    missing: MissingPolicy

    def find_key(self, fingerprint: str, number: int) -> str:
        """The same for an attempt that would be made in the same way."""
        content = self.case.model_dump(mode="json", exclude=UNCACHED_FIELDS)
        files = [self.file.path.parent / name for turn in self.case.turns for name in turn.files]
        missing = self.missing if isinstance(self.missing, str) else self.missing.stub
        digests = [sha256(path.read_bytes()).hexdigest() for path in files]
        key = [fingerprint, self.file.name, self.agent, missing, number, digests, content]
        return blake2b(msgspec.json.encode(key, order="sorted"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class RunSettings:
    repeat: int = 1
    concurrency: int = 4
    is_fresh: bool = False


@dataclass(slots=True)
class EvalRunner:
    """`report` is called with each attempt as it ends. `stop` ends the evaluation with what there is."""

    replay: ReplayRuntime
    store: ResultStore
    metering: EvalMetering
    settings: RunSettings
    report: Callable[[AttemptResult], None]
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, cases: Sequence[PlannedCase], variant: Variant, label: str | None) -> EvalResult:
        """Run and store the result. Attempts that were not begun, or did not end, are not in it."""
        began, at = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
        attempts: list[list[AttemptResult]] = [[] for _ in cases]
        jobs = iter([(place, number) for place in range(len(cases)) for number in range(1, self.settings.repeat + 1)])
        work = [self._work(jobs, cases, attempts) for _ in range(self.settings.concurrency)]
        running = asyncio.gather(*map(asyncio.create_task, work))
        stopping = asyncio.create_task(self.stop.wait())
        await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not running.done():
            running.cancel()
            await asyncio.wait((running,))
        elif error := running.exception():
            raise error
        done = list(self._collect(cases, attempts))
        is_complete = len(done) == len(cases)
        result = EvalResult(
            id=new_id("eval"),
            label=label,
            at=at,
            repeat=self.settings.repeat,
            complete=is_complete,
            stopped=None if is_complete else self._why_stopped(),
            variant=variant,
            totals=make_totals(len(cases), done, self.metering.budget.spent / NANO, time.monotonic() - began),
            cases=done,
        )
        self.store.add_result(result)
        return result

    def _why_stopped(self) -> Literal["budget", "interrupted"]:
        return "interrupted" if self.stop.is_set() else "budget"

    def _collect(self, cases: Sequence[PlannedCase], attempts: list[list[AttemptResult]]) -> Iterator[CaseResult]:
        for planned, made in zip(cases, attempts, strict=True):
            if len(made) == self.settings.repeat:
                ordered = sorted(made, key=lambda attempt: attempt.number)
                yield make_case_result(planned.file.name, planned.file.dataset, planned.case, ordered)

    async def _work(
        self, jobs: Iterable[tuple[int, int]], cases: Sequence[PlannedCase], attempts: list[list[AttemptResult]]
    ) -> None:
        for place, number in jobs:
            if self.metering.budget.is_used_up:
                return
            # In a task of its own, because the meter and the replay are in its context.
            attempting = asyncio.create_task(self._attempt(cases[place], number))
            if (made := await attempting) is not None:
                attempts[place].append(made)
                self.report(made)

    async def _attempt(self, planned: PlannedCase, number: int) -> AttemptResult | None:
        """None if the budget is used up."""
        key = planned.find_key(self.replay.fingerprint, number)
        attempt = None if self.settings.is_fresh else self.store.find_attempt(key)
        if attempt is None:
            attempt = await self._replay(planned, number, key)
            if attempt is None:
                return None
        else:
            attempt = msgspec.structs.replace(attempt, cached=True)
        scores: Sequence[Score] = ()
        if attempt.diverged is None and attempt.error is None:
            METER.set(EvalMeter(self.metering, planned.agent))
            scorers = (*planned.file.dataset.scorers, *planned.case.scorers)
            verdicts = self.store if attempt.cached else NewVerdicts(self.store)
            try:
                scores = await score_attempt(attempt, planned.case, scorers, self.replay.models.__getitem__, verdicts)
            except OutOfBudget:
                return None
            except Exception as error:
                logger.exception("the case %s of %s could not be scored", planned.case.name, planned.file.name)
                scores = [Score("scorers", None, f"a scorer raised {type(error).__name__}: {error}")]
        return make_attempt_result(attempt, scores)

    async def _replay(self, planned: PlannedCase, number: int, key: str) -> Attempt | None:
        meter = EvalMeter(self.metering, planned.agent)
        folder = planned.file.path.parent
        replayed = ReplayedCase(self.replay.runtime, meter, planned.agent, planned.case, planned.missing, folder)
        attempt = await replayed.run(number)
        if replayed.replay.is_out_of_budget:
            return None
        self.store.add_attempt(key, planned.file.name, attempt, replayed.events)
        return attempt


def plan(
    file: DatasetFile, names: Callable[[str], bool], agents: Sequence[str], missing: MissingPolicy | None
) -> Iterator[PlannedCase]:
    """The cases with these names. `missing` replaces the policy of the dataset and of its cases."""
    for case in file.dataset.cases:
        if names(case.name):
            agent = case.agent or file.dataset.agent or choose_agent(agents)
            policy = (
                missing if missing is not None else case.missing if case.missing is not None else file.dataset.missing
            )
            yield PlannedCase(file, case, agent, policy)


def choose_agent(agents: Sequence[str]) -> str:
    return "default" if "default" in agents or len(agents) != 1 else agents[0]
