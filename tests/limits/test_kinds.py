"""What a kind of limits needs beside its value in `limits.kinds`."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from rightseat.core.messages import user
from rightseat.core.model import Prompt
from rightseat.limits.kinds import KINDS, KindName, LimitKind
from rightseat.limits.model_charge import CountedCall, ModelCharge
from rightseat.limits.options import LimitOptions
from rightseat.limits.prices import Price, Prices
from rightseat.limits.single_call import SingleCall, TokenCounts
from rightseat.testing import ScriptedModel

WORDS = Path(__file__).parents[2] / "console/src/words/usage"
PERIOD_KEY = re.compile(r"(\w+)_per_(?:minute|hour|day|month)")
WITH_WINDOWS = [kind for kind in KINDS.values() if not kind.is_slot]
OF_CALLS = [kind for kind in KINDS.values() if kind.counts_calls]


def keys_of(kind: LimitKind) -> list[str]:
    found = {name: PERIOD_KEY.fullmatch(name) for name in LimitOptions.model_fields}
    return [name for name, match in found.items() if match and match[1] == kind.name]


def count_calls() -> list[CountedCall]:
    prices = Prices({"m": Price(2, 8)})
    prompt = Prompt((user("How many?"),))
    model = ScriptedModel([])
    model.rightseat_key = "m"  # type: ignore[attr-defined]
    return [ModelCharge(prices, {}, model, prompt), SingleCall("m", "", TokenCounts(9), TokenCounts(9), prices)]


def test_kinds_are_found_by_every_name_that_can_be_stored() -> None:
    assert set(KINDS) == set(get_args(KindName))


def test_no_key_of_a_period_is_without_a_kind() -> None:
    named = {match[1] for name in LimitOptions.model_fields if (match := PERIOD_KEY.fullmatch(name))}

    assert named == {kind.name for kind in WITH_WINDOWS}


@pytest.mark.parametrize("kind", WITH_WINDOWS, ids=lambda kind: kind.name)
def test_each_key_of_a_kind_makes_a_rule_of_it(kind: LimitKind) -> None:
    keys = dict.fromkeys(keys_of(kind), 5) | {kind.name: {"most": 5, "per": "10s"}}
    rules = [
        rule
        for key, value in keys.items()
        for rule in LimitOptions.model_validate({"name": "a", "subject": "user", key: value}).rules("UTC")
    ]

    assert [(rule.kind, rule.most) for rule in rules] == [(kind, kind.parse(5))] * len(keys)


@pytest.mark.parametrize("kind", OF_CALLS, ids=lambda kind: kind.name)
def test_every_call_reserves_something_of_a_kind_that_counts_calls(kind: LimitKind) -> None:
    """Only what is reserved is replaced by what was used, so nothing would be counted without it."""
    assert all(kind.of_call(call.reserved) > 0 for call in count_calls())


@pytest.mark.parametrize("kind", OF_CALLS, ids=lambda kind: kind.name)
def test_what_a_call_used_is_counted_of_a_kind_that_counts_calls(kind: LimitKind) -> None:
    for call in count_calls():
        assert kind.of_call(call.counts(is_reserved=True)) > 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_console_has_a_word_for_every_kind(language: str) -> None:
    words = json.loads((WORDS / f"{language}.json").read_text())
    prefix = "usage.kind."

    assert {name.removeprefix(prefix) for name in words if name.startswith(prefix)} == set(KINDS)
