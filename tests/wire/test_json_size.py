"""What a body costs is known before it is decoded."""

import json

import pytest

from rightseat.wire.json_size import ValueCounter

MANY = 100


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10**6])
@pytest.mark.parametrize(
    "value",
    [
        [{"a": 1}] * MANY,
        {"a": [[]] * MANY},
        {"text": "[{" * MANY, "real": [{}] * MANY},
        {"quotes": '\\"[{' * MANY, "backslashes": "\\" * MANY, "real": [{}] * MANY},
        [{"key" + "x" * 70: '"]'} for _ in range(MANY)],
        {"texts": ["a,b", ","] * MANY, "numbers": [1] * MANY, "keys": {f"k,{number}": None for number in range(MANY)}},
    ],
    ids=["objects", "arrays", "in text", "escapes", "brackets at ends", "values"],
)
def test_values_are_counted_and_brackets_and_commas_in_strings_are_not(value: object, size: int) -> None:
    def count(inner: object) -> tuple[int, int]:
        """Containers, and the commas between values."""
        if not isinstance(inner, dict | list):
            return 0, 0
        items = list(inner.values()) if isinstance(inner, dict) else inner
        counted = [count(item) for item in items]
        return 1 + sum(one for one, _ in counted), max(0, len(items) - 1) + sum(commas for _, commas in counted)

    body, counter = json.dumps(value).encode(), ValueCounter()
    for start in range(0, len(body), size):
        counter.feed(body[start : start + size])

    containers, commas = count(value)
    assert (counter.containers, counter.values) == (containers, containers + commas)
