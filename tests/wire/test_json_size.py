"""What a body costs is known before it is decoded."""

import json

import pytest

from rightseat.wire.json_size import FEW_CONTAINERS, PIECE_BYTES, count_containers

MANY = FEW_CONTAINERS + 10


@pytest.mark.parametrize(
    "value",
    [
        [{"a": 1}] * MANY,
        {"a": [[]] * MANY},
        {"text": "[{" * MANY, "real": [{}] * MANY},
        {"quotes": '\\"[{' * MANY, "backslashes": "\\" * MANY, "real": [{}] * MANY},
        [{"key" + "x" * 70: '"]'} for _ in range(3 * PIECE_BYTES // 80)],
    ],
    ids=["objects", "arrays", "in text", "escapes", "strings across pieces"],
)
def test_objects_and_arrays_are_counted_and_brackets_in_strings_are_not(value: object) -> None:
    def count(inner: object) -> int:
        match inner:
            case dict():
                return 1 + sum(map(count, inner.values()))
            case list():
                return 1 + sum(map(count, inner))
            case _:
                return 0

    assert count_containers(json.dumps(value).encode(), 10**9) == count(value)


def test_counting_ends_soon_after_the_most() -> None:
    body = b"[" + b"{}," * 10**6 + b"{}]"

    assert 5_000 < count_containers(body, 5_000) < 5_000 + PIECE_BYTES
