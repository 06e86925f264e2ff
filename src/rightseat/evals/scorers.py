"""The scorers: one function each, from an attempt to whether it passed and, if not, why."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import msgspec

from rightseat import parts
from rightseat.core.errors import ConfigError
from rightseat.core.model import Model
from rightseat.core.types import JSON_ERRORS, JsonValue, json_equal
from rightseat.evals import scorer_options as options
from rightseat.evals.attempts import Attempt, AttemptCall, Score, Scorer
from rightseat.evals.cases import Case, ScorerSpec
from rightseat.evals.dataset import DatasetFile
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.judge import Verdicts, judge_text
from rightseat.evals.scorer_options import SCORERS, ScorerOptions
from rightseat.json_schema import MAX_FAULTS, SchemaValidator
from rightseat.parts import hint
from rightseat.text import one_line, truncate

MAX_SHOWN = 200  # characters of an answer in a reason
NUMBER = re.compile(r"(?<![\w.,])[-+\u2212]?(?:\d{1,3}(?:[,'\u00a0\u202f]\d{3})+|\d+)(?:\.\d+)?")
SEPARATORS = str.maketrans({"\u2212": "-", ",": None, "'": None, "\u00a0": None, "\u202f": None})
URL = re.compile(r"https?://[^\s<>()\[\]\"']+")

GetModel = Callable[[str], Model]
Check = Callable[[Attempt, Case, Any], str | None]
"""Returns why the attempt failed; None if it passed. Raises `CannotScore`."""


class CannotScore(Exception):
    """The attempt can be neither passed nor failed; the message says why."""


async def score_attempt(
    attempt: Attempt,
    case: Case,
    scorers: Iterable[ScorerSpec],
    get_model: GetModel,
    verdicts: Verdicts | None = None,
) -> list[Score]:
    """One score for each scorer, in order: those of the dataset first. Nothing for an attempt that has no answer.

    `get_model` returns the judges by their names in the configuration. `verdicts` keeps what they said.
    """
    if attempt.diverged is not None or attempt.error is not None:
        return []
    pairs = [pair for scorer in scorers for pair in scorer.items()]
    return [await _score(name, value, attempt, case, get_model, verdicts) for name, value in pairs]


async def _score(
    name: str,
    value: JsonValue,
    attempt: Attempt,
    case: Case,
    get_model: GetModel,
    verdicts: Verdicts | None,
) -> Score:
    if name not in SCORERS:
        return await _score_by_own(name, value, attempt, case)
    checked = SCORERS[name].model_validate(value)
    if isinstance(checked, options.JudgeOptions):
        return await judge_text(attempt.text, checked, get_model, verdicts)
    try:
        reason = (
            CHECKS[type(checked)](attempt, case, checked) if name not in FIGURES else _figure(name, attempt, checked)
        )
    except CannotScore as error:
        return Score(name, None, str(error))
    return Score(name, reason is None, reason or "")


async def _score_by_own(name: str, value: JsonValue, attempt: Attempt, case: Case) -> Score:
    try:
        score: object = await load_scorer(name)(attempt, case, value)
    except ConfigError as error:
        return Score(name, None, error.message)
    except Exception as error:  # code of the project may raise any exception
        return Score(name, None, f"the scorer raised {type(error).__name__}: {truncate(str(error), MAX_SHOWN)}")
    if not isinstance(score, Score):
        return Score(name, None, f"the scorer returned {type(score).__name__}; it should return a Score.")
    return score


def load_scorer(name: str) -> Scorer:
    """The function `module:function`, or `module.function`. Raises `ConfigError`."""
    module, _, function = name.rpartition(":" if ":" in name else ".")
    scorer: Scorer = parts.require_async(parts.load(f"{module}:{function}"))
    return scorer


def check_scorers(files: Iterable[DatasetFile], models: Collection[str]) -> None:
    """Import the scorers of the project and find the judges among the `models`. Raises `DatasetError`."""
    wrong = []
    for file in files:
        dataset = file.dataset
        scorers = [*dataset.scorers, *(scorer for case in dataset.cases for scorer in case.scorers)]
        for name in dict.fromkeys(name for scorer in scorers for name in scorer if name not in SCORERS):
            try:
                load_scorer(name)
            except ConfigError as error:
                wrong.append(f"{file.path}: the scorer {name!r}: {error.message}")
        judges = [options.JudgeOptions.model_validate(scorer["judge"]).model for scorer in scorers if "judge" in scorer]
        for judge in dict.fromkeys(judges):
            if judge not in models:
                known = ", ".join(models) or "none"
                wrong.append(
                    f"{file.path}: the judge {judge!r} is not configured. Models: {known}.{hint(judge, models)}"
                )
    if wrong:
        raise DatasetError(*wrong)


def _got(attempt: Attempt) -> str:
    return f"got {truncate(one_line(attempt.text), MAX_SHOWN)!r}" if attempt.text else "the answer is empty"


def contains(attempt: Attempt, case: Case, wanted: options.Contains) -> str | None:
    missing = [text for text in wanted.text if not _is_in(text, attempt.text, wanted.ignore_case)]
    return f"not in the answer: {_list(missing)}; {_got(attempt)}" if missing else None


def excludes(attempt: Attempt, case: Case, wanted: options.Excludes) -> str | None:
    present = [text for text in wanted.text if _is_in(text, attempt.text, wanted.ignore_case)]
    return f"in the answer: {_list(present)}; {_got(attempt)}" if present else None


def _is_in(text: str, answer: str, ignore_case: bool) -> bool:
    return text.casefold() in answer.casefold() if ignore_case else text in answer


def _list(texts: Iterable[str]) -> str:
    return ", ".join(repr(truncate(text, MAX_SHOWN)) for text in texts)


def regex(attempt: Attempt, case: Case, wanted: options.Regex) -> str | None:
    is_found = wanted.compile().search(attempt.text.encode("utf-8", "replace")) is not None
    return None if is_found else f"{wanted.pattern!r} does not match; {_got(attempt)}"


def equals(attempt: Attempt, case: Case, wanted: options.Equals) -> str | None:
    expected = case.expected if wanted.text is None else wanted.text
    if expected is None:
        raise CannotScore("the case has no `expected` to compare with.")
    fold = str.casefold if wanted.ignore_case else str
    if fold(attempt.text) == fold(expected):
        return None
    return f"expected {truncate(one_line(expected), MAX_SHOWN)!r}, {_got(attempt)}"


def json_schema(attempt: Attempt, case: Case, wanted: options.MatchesSchema) -> str | None:
    try:
        value = msgspec.json.decode(attempt.text)
    except JSON_ERRORS as error:
        return f"the answer is no JSON ({error}); {_got(attempt)}"
    faults = SchemaValidator(wanted.json_schema).find_faults(value, MAX_FAULTS)
    return "; ".join(faults) or None


def number(attempt: Attempt, case: Case, wanted: options.Number) -> str | None:
    numbers = [float(text.translate(SEPARATORS)) for text in NUMBER.findall(attempt.text)]
    low, high = wanted.at_least, wanted.at_most
    if wanted.near is not None:
        low, high = wanted.near - wanted.within, wanted.near + wanted.within
    if any((low is None or low <= value) and (high is None or value <= high) for value in numbers):
        return None
    bounds = f"{'' if low is None else f'at least {low:g}'} {'' if high is None else f'at most {high:g}'}".strip()
    return f"no number is {bounds}; {_got(attempt)}"


def tool_calls(attempt: Attempt, case: Case, wanted: options.ToolCalls) -> str | None:
    made = f"the calls were: {', '.join(map(_describe_call, attempt.tool_calls)) or 'none'}"
    if denied := [call.name for call in attempt.tool_calls if call.name in wanted.deny]:
        return f"denied calls were made: {', '.join(denied)}; {made}"
    missing = _find_missing(wanted, attempt.tool_calls)
    if missing is not None:
        return f"expected {_describe_call(missing)} ({wanted.order}); {made}"
    if wanted.order == "exact" and len(attempt.tool_calls) > len(wanted.expect):
        return f"there are calls beyond the {len(wanted.expect)} expected; {made}"
    return None


def _find_missing(wanted: options.ToolCalls, calls: Sequence[AttemptCall]) -> options.ExpectedCall | None:
    """The first expected call that no call stands for."""
    if wanted.order == "any":
        return _find_unmatched(wanted.expect, calls)
    rest = iter(calls)
    for expected in wanted.expect:
        if wanted.order == "exact":
            call = next(rest, None)
            is_made = call is not None and _fits(expected, call)
        else:
            is_made = any(_fits(expected, call) for call in rest)  # which consumes the calls up to the one that fits
        if not is_made:
            return expected
    return None


def _find_unmatched(
    expected: Sequence[options.ExpectedCall], calls: Sequence[AttemptCall]
) -> options.ExpectedCall | None:
    """Match each expected call with a call of its own; a matched call is given away if another fits."""
    taken: dict[int, int] = {}

    def match(want: int, seen: set[int]) -> bool:
        for place, call in enumerate(calls):
            if place in seen or not _fits(expected[want], call):
                continue
            seen.add(place)
            if place not in taken or match(taken[place], seen):
                taken[place] = want
                return True
        return False

    return next((call for want, call in enumerate(expected) if not match(want, set())), None)


def _fits(expected: options.ExpectedCall, call: AttemptCall) -> bool:
    given = call.arguments
    return call.name == expected.name and all(
        name in given and json_equal(given[name], value) for name, value in expected.arguments.items()
    )


def _describe_call(call: options.ExpectedCall | AttemptCall) -> str:
    arguments = msgspec.json.encode(dict(call.arguments)).decode()
    return call.name if arguments == "{}" else f"{call.name}({truncate(arguments, MAX_SHOWN)})"


def citation(attempt: Attempt, case: Case, wanted: options.Citation) -> str | None:
    cited = [*URL.findall(attempt.text), *(msgspec.json.encode(entry).decode() for entry in attempt.citations)]
    if not cited:
        return f"there is no citation; {_got(attempt)}"
    if wanted.contains is None or any(wanted.contains in entry for entry in cited):
        return None
    return f"no citation contains {wanted.contains!r}: {_list(cited[:5])}"


def guard(attempt: Attempt, case: Case, wanted: options.GuardVerdict) -> str | None:
    got = f"the guard {attempt.denied_by!r} denied" if attempt.denied_by is not None else "no guard denied"
    if wanted.denied_by is not None:
        return None if attempt.denied_by == wanted.denied_by else f"expected {wanted.denied_by!r} to deny; {got}."
    is_expected = (wanted.verdict == "denied") is (attempt.denied_by is not None)
    return None if is_expected else f"expected {wanted.verdict}; {got}; {_got(attempt)}"


def outcome(attempt: Attempt, case: Case, wanted: options.RunOutcomeIs) -> str | None:
    return None if attempt.run_outcome == wanted.run else f"expected {wanted.run}, the run was {attempt.run_outcome}."


def latency(attempt: Attempt, case: Case, wanted: options.Latency) -> str | None:
    taken = attempt.seconds * 1000
    return None if taken <= wanted.at_most_ms else f"took {taken:.0f} ms; at most {wanted.at_most_ms:g} ms."


FIGURES: dict[str, Callable[[Attempt], float | None]] = {
    "tokens": lambda attempt: attempt.input_tokens + attempt.output_tokens,
    "cost": lambda attempt: attempt.cost,
    "model_calls": lambda attempt: attempt.model_calls,
}


def _figure(name: str, attempt: Attempt, wanted: ScorerOptions) -> str | None:
    figure = FIGURES[name](attempt)
    most = wanted.at_most if isinstance(wanted, options.AtMost) else 0
    if figure is None:
        raise CannotScore("a model has no price: add it to `prices` in the configuration.")
    return None if figure <= most + 1e-12 else f"{name.replace('_', ' ')}: {figure:g}; at most {most:g}."


CHECKS: dict[type[ScorerOptions], Check] = {
    options.Contains: contains,
    options.Excludes: excludes,
    options.Regex: regex,
    options.Equals: equals,
    options.MatchesSchema: json_schema,
    options.Number: number,
    options.ToolCalls: tool_calls,
    options.Citation: citation,
    options.GuardVerdict: guard,
    options.RunOutcomeIs: outcome,
    options.Latency: latency,
}
