"""The result of an evaluation: what `eval run` stores and prints, and what `eval compare` reads."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Literal

import msgspec

from rightseat.core.types import JsonValue
from rightseat.evals.attempts import Attempt, Outcome, Score
from rightseat.evals.cases import Case, Dataset
from rightseat.evals.statistics import wilson_interval


class AttemptResult(Attempt, frozen=True, kw_only=True):
    """An attempt with its scores. `reason` says why it diverged, or has an error."""

    outcome: Outcome
    reason: str = ""
    latency_ms: float = 0.0
    scores: Sequence[Score] = ()


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """`content` is equal for cases with the same content, see `fingerprint_case`."""

    dataset: str
    name: str
    content: str
    outcome: Outcome
    pass_rate: float
    flaky: bool
    attempts: Sequence[AttemptResult]


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """`cases` are those that were to be run. `cost` is that of this start with its judges; cached attempts are free."""

    cases: int
    passed: int
    failed: int
    diverged: int
    errors: int
    unscored: int
    not_run: int
    pass_rate: float
    interval: tuple[float, float]
    cost: float
    seconds: float


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """What was evaluated. `settings` are those of the configuration, without secrets."""

    config: str
    model: str | None = None
    set: Sequence[str] = ()
    settings: Mapping[str, JsonValue] = {}


class EvalResult(msgspec.Struct, frozen=True, kw_only=True):
    """`at` is when it began, in ISO 8601."""

    id: str
    label: str | None
    at: str
    repeat: int
    complete: bool
    stopped: Literal["budget", "interrupted"] | None
    variant: Variant
    totals: Totals
    cases: Sequence[CaseResult]


def fingerprint_case(dataset: Dataset, case: Case) -> str:
    """Of all that decides about the outcome, also the scorers and what the dataset says for all its cases."""
    content = case.model_dump(mode="json", exclude={"name", "source", "tags", "metadata"})
    content |= {"agent": case.agent or dataset.agent, "missing": dump_missing(dataset, case)}
    content["scorers"] = [*dataset.scorers, *case.scorers]
    return blake2b(msgspec.json.encode(content, order="sorted"), digest_size=12).hexdigest()


def dump_missing(dataset: Dataset, case: Case) -> JsonValue:
    policy = dataset.missing if case.missing is None else case.missing
    return policy if isinstance(policy, str) else policy.model_dump(mode="json")


def make_attempt_result(attempt: Attempt, scores: Sequence[Score]) -> AttemptResult:
    return AttemptResult(
        **msgspec.structs.asdict(attempt),
        outcome=_attempt_outcome(attempt, scores),
        reason=attempt.diverged or attempt.error or "",
        latency_ms=round(attempt.seconds * 1000, 1),
        scores=scores,
    )


def _attempt_outcome(attempt: Attempt, scores: Sequence[Score]) -> Outcome:
    if attempt.diverged is not None:
        return "diverged"
    if attempt.error is not None or any(score.passed is None for score in scores):
        return "error"
    if not scores:
        return "unscored"
    return "passed" if all(score.passed for score in scores) else "failed"


def make_case_result(name: str, dataset: Dataset, case: Case, attempts: Sequence[AttemptResult]) -> CaseResult:
    """`name` is that of the dataset's file. A case passes if all its attempts do."""
    outcomes = [attempt.outcome for attempt in attempts]
    rate = outcomes.count("passed") / len(outcomes)
    decided: tuple[Outcome, ...] = ("error", "diverged", "unscored", "failed", "passed")
    return CaseResult(
        dataset=name,
        name=case.name,
        content=fingerprint_case(dataset, case),
        outcome=next(outcome for outcome in decided if outcome in outcomes),
        pass_rate=rate,
        flaky=0 < rate < 1,
        attempts=attempts,
    )


def make_totals(planned: int, cases: Sequence[CaseResult], cost: float, seconds: float) -> Totals:
    """`planned` is how many cases were to be run."""
    outcomes = [case.outcome for case in cases]
    passed = outcomes.count("passed")
    return Totals(
        cases=planned,
        passed=passed,
        failed=outcomes.count("failed"),
        diverged=outcomes.count("diverged"),
        errors=outcomes.count("error"),
        unscored=outcomes.count("unscored"),
        not_run=planned - len(cases),
        pass_rate=passed / len(cases) if cases else 0.0,
        interval=wilson_interval(passed, len(cases)),
        cost=cost,
        seconds=seconds,
    )
