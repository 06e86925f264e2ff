"""Equality of JSON values, and the steps of JSON Pointers."""

import pytest

from rightseat.core.types import JsonValue, json_equal, split_pointer


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ([1, {"a": [None]}], [1.0, {"a": [None]}], True),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": 1}, {"b": 1}, False),
        ([1], [1, 2], False),
        ([], {}, False),
        ("1", 1, False),
    ],
)
def test_equality_is_that_of_json(left: JsonValue, right: JsonValue, equal: bool) -> None:
    assert json_equal(left, right) is equal
    assert json_equal(right, left) is equal


def test_values_of_any_depth_are_compared() -> None:
    def nested(innermost: JsonValue) -> JsonValue:
        value = innermost
        for _ in range(100_000):
            value = [value]
        return value

    assert json_equal(nested(1), nested(1.0))
    assert not json_equal(nested(1), nested(True))


@pytest.mark.parametrize(
    ("pointer", "steps"), [("", []), ("/", [""]), ("/a~1b/0", ["a/b", "0"]), ("/~01", ["~1"]), ("//a", ["", "a"])]
)
def test_a_pointer_is_split_into_its_steps(pointer: str, steps: list[str]) -> None:
    assert split_pointer(pointer) == steps


def test_a_pointer_begins_with_a_slash() -> None:
    with pytest.raises(ValueError, match="'a/b' is not a JSON Pointer"):
        split_pointer("a/b")
