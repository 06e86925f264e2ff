"""Numbers between bounds: exactly those, digit by digit."""

import random
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.models.completion.grammar.multiples import build_multiples
from rightseat.models.completion.grammar.nodes import Grammar, Node
from rightseat.models.completion.grammar.numbers import Bound, build_integers, build_numbers
from tests.models.completion.grammar import words
from tests.profiles import examples


def accepts(node: Node, text: str) -> bool:
    return words.accepts(Grammar(node, {}), text)


@settings(max_examples=examples(0.2))
@given(st.integers(-250, 250), st.integers(0, 300))
def test_an_integer_is_accepted_if_it_is_between_the_bounds(low: int, width: int) -> None:
    node = build_integers(low, low + width, 15)

    assert node is not None
    for value in range(-320, 620, 3):
        assert accepts(node, str(value)) is (low <= value <= low + width), value
    assert accepts(node, str(low))
    assert accepts(node, str(low + width))
    assert not accepts(node, "-0")
    assert not accepts(node, f"0{max(low, 0)}")


@pytest.mark.parametrize(
    ("low", "high"), [(0, 10**15 - 1), (99, 1_000), (101, 99_998), (-1_000, 7), (10**17, 10**17 + 12_345), (9, 9)]
)
def test_the_ends_of_a_long_range_are_in_it_and_their_neighbours_are_not(low: int, high: int) -> None:
    node = build_integers(low, high, 15)

    assert node is not None
    middle = [random.Random(1).randint(low, high) for _ in range(50)]
    assert all(accepts(node, str(value)) for value in (low, high, *middle))
    assert not any(accepts(node, str(value)) for value in (low - 1, high + 1))


@pytest.mark.parametrize(("low", "high"), [(None, None), (5, None), (None, 5), (-5, None), (10**16, None), (None, -1)])
def test_without_a_bound_there_are_digits_enough(low: int | None, high: int | None) -> None:
    node = build_integers(low, high, 15)

    assert node is not None
    for value in (0, 5, -5, 4, 123_456_789_012_345, -123_456_789_012_345, 10**16):
        inside = (low is None or value >= low) and (high is None or value <= high)
        reachable = abs(value) < 10**15 or low == 10**16
        assert accepts(node, str(value)) is (inside and reachable), value


tenths = st.integers(-4000, 4000)


@settings(max_examples=examples(0.25))
@given(tenths, st.integers(0, 3000), st.booleans(), st.booleans(), st.sampled_from([1, 10, 100, 1000]))
def test_a_number_is_accepted_if_it_is_between_the_bounds(
    low: int, width: int, open_low: bool, open_high: bool, scale: int
) -> None:
    least, most = Decimal(low) / scale, Decimal(low + width) / scale
    node = build_numbers(Bound(least, open_low), Bound(most, open_high), 15)
    tried = random.Random(low)
    near = [
        least,
        most,
        *(least + Decimal(step) / 1000 for step in (-1, 1)),
        *(most + Decimal(step) / 1000 for step in (-1, 1)),
    ]
    chosen = [Decimal(tried.randint(low * 10 - 50, (low + width) * 10 + 50)) / (scale * 10) for _ in range(40)]

    for value in [*near, *chosen]:
        inside = (value > least if open_low else value >= least) and (value < most if open_high else value <= most)
        text = f"{value.normalize():f}"
        if node is None:
            assert not inside
        elif text != "-0":
            assert accepts(node, text) is inside, text


@pytest.mark.parametrize("step", ["1", "5", "7", "10", "25", "300", "0.5", "0.25", "0.01", "0.3", "12"])
@pytest.mark.parametrize(("low", "high"), [(None, None), (0, None), (None, 40), (-33, 41), (13, 900), (-7, 123_456)])
def test_a_multiple_is_accepted_if_it_is_between_the_bounds(step: str, low: int | None, high: int | None) -> None:
    size = Decimal(step)
    node = build_multiples(
        size,
        None if low is None else Bound(Decimal(low), False),
        None if high is None else Bound(Decimal(high), False),
        15,
    )

    assert node is not None or step == "300"
    for count in (*range(-60, 60), 333, 400):
        value = size * count
        inside = (low is None or value >= low) and (high is None or value <= high)
        text = f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
        if node is not None and text != "-0":
            assert accepts(node, text) is inside, text
    for value in (size / 3, size * Decimal("1.5")):
        assert node is None or not accepts(node, f"{value:f}")


def test_a_finer_bound_than_can_be_kept_is_moved_inwards() -> None:
    node = build_numbers(Bound(Decimal("0.30000000000000004"), True), Bound(Decimal(1), False), 15)

    assert node is not None
    assert accepts(node, "0.300000001")
    assert not accepts(node, "0.3")
