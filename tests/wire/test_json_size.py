"""What a body costs is known before it is decoded."""

import json

import pytest

from rightseat.wire.json_size import ContainerCounter

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
    ],
    ids=["objects", "arrays", "in text", "escapes", "brackets at ends"],
)
def test_objects_and_arrays_are_counted_and_brackets_in_strings_are_not(value: object, size: int) -> None:
    def count(inner: object) -> int:
        match inner:
            case dict():
                return 1 + sum(map(count, inner.values()))
            case list():
                return 1 + sum(map(count, inner))
            case _:
                return 0

    body, counter = json.dumps(value).encode(), ContainerCounter()
    for start in range(0, len(body), size):
        counter.feed(body[start : start + size])

    assert counter.found == count(value)
