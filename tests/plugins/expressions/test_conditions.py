import builtins
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.core.types import JsonValue
from rightseat.plugins.expressions import conditions
from rightseat.plugins.expressions.conditions import InvalidCondition, evaluate

NAMES: dict[str, JsonValue] = {
    "data": {"total": 3, "name": "web-01", "items": [1, 2, "x"], "flag": True, "none": None, "a-b": {"c.d": 1.0}},
    "steps": {"rank": {"output": {"counts": {"high": 2}}}},
    "question": "list all hosts",
    "files": ["a.csv"],
}


@pytest.mark.parametrize(
    "text",
    [
        "data.total > 0",
        "data.total==3",
        "data.total == 3.0",
        "data.total >= -1 and data.total <= 3e0",
        "len(data.items) == 3",
        "len(data.name) == 6",
        "len(data) == 6",
        "data.name == 'web-01'",
        "data.name < 'x'",
        "question contains 'all'",
        "'a.csv' in files",
        "'total' in data",
        "'x' in data.items",
        "data.missing == null",
        "data.name != null",
        "not data.missing",
        "not not data.flag",
        "data.flag and (data.missing or data.total)",
        "steps.rank.output.counts.high == 2",
        'data.a-b["c.d"] == 1',
        "data.items[-1] == 'x'",
        "data.name != 'it\\'s'",
        "data.flag == true or data.nothing.at.all",
    ],
)
def test_R_7_10_conditions_are_evaluated(text: str) -> None:
    assert evaluate(conditions.parse(text), NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "data.total > '1'",
        "data.total < '1'",
        "data.total == '3'",
        "data.total != '3'",
        "data.flag == 1",
        "data.flag > 0",
        "data.missing > 0",
        "len(data.total) == 0",
        "'1' in data.items",
        "data.total in 'abc'",
        "data.none",
        "data.items == data",
        "files contains 1",
        "data.total > 3 or data.total < 3",
    ],
)
def test_comparing_different_types_is_false_and_never_an_error(text: str) -> None:
    assert not evaluate(conditions.parse(text), NAMES)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("data.total >", 12),
        ("data.total > > 1", 13),
        ("total > 0", 0),
        ("len(question", 12),
        ("len 3", 4),
        ("data == 'open", 8),
        ('data == "x"', 8),
        ("data and", 8),
        ("(data", 5),
        ("data data", 5),
        ("__import__('os')", 0),
        ("data.items()", 10),
        ("data[question]", 4),
        ("data == 1 + 1", 10),
        ("data == 1 == 1", 10),
        ("1.2.3 == data", 0),
        ("not " * 60 + "data", 199),
        ("(" * 60 + "data", 50),
        ("data " * 500, 2000),
    ],
)
def test_an_invalid_condition_is_refused_with_its_position(text: str, position: int) -> None:
    with pytest.raises(InvalidCondition) as failure:
        conditions.parse(text)

    assert failure.value.position == position


TOKENS = ["data", "steps", "question", "files", ".a", "[0]", "[*]", '["x"]', "len(", "(", ")", "and", "or", "not", "in"]
TOKENS += [
    "contains",
    "==",
    "!=",
    "<",
    ">=",
    "1",
    "-2.5",
    "1e999",
    "'t'",
    "true",
    "null",
    "__class__",
    "eval",
    "9" * 99,
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ax"), inner, max_size=2),
    max_leaves=8,
)


@pytest.fixture(scope="module", autouse=True)
def _no_host_code() -> Iterator[None]:
    """Whoever evaluates Python is caught at it."""

    def caught(*args: object, **rest: object) -> None:
        raise AssertionError("host code was called")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "eval", caught)
        yield


@given(st.lists(st.sampled_from(TOKENS), max_size=12), st.booleans(), json_values)
def test_R_7_10_random_conditions_never_raise_and_never_call_host_code(
    tokens: list[str], spaced: bool, data: JsonValue
) -> None:
    """Section 17, item 14."""
    text = (" " if spaced else "").join(tokens)
    condition = parsed(text)

    assert condition is None or evaluate(condition, {**NAMES, "data": data}) in (True, False)


@given(st.text(max_size=40))
def test_random_texts_are_refused_with_a_position(text: str) -> None:
    assert parsed(text) is None or text.strip()


def parsed(text: str) -> conditions.Condition | None:
    """None where it is refused, with a place in the text."""
    try:
        return conditions.parse(text)
    except InvalidCondition as error:
        if not 0 <= error.position <= len(text):
            raise
    return None


def test_deeply_nested_values_can_be_compared() -> None:
    deep: JsonValue = []
    for _ in range(100_000):
        deep = [deep]

    assert evaluate(conditions.parse("data == data"), {**NAMES, "data": deep})
