"""What the validation of a large value may cost."""

import time

import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Schema
from rightseat.plugins.operations.validation import (
    MAX_VISITS_OF_DATA,
    TOO_LARGE_TO_LIST,
    SchemaViolation,
    find_violations,
)

TEXTS: Schema = {"type": "array", "items": {"type": "string"}}


def test_of_a_small_value_every_violation_has_its_place() -> None:
    assert find_violations(TEXTS, ["a", 1, 2]) == [
        SchemaViolation((1,), '1 is not of type "string"'),
        SchemaViolation((2,), '2 is not of type "string"'),
    ]


def test_of_a_large_value_that_is_invalid_the_places_are_not_listed() -> None:
    texts: list[JsonValue] = ["a"] * 50_000

    assert find_violations(TEXTS, texts) == []
    assert find_violations(TEXTS, [*texts, 1]) == [SchemaViolation((), TOO_LARGE_TO_LIST)]


def test_a_value_with_too_many_parts_is_not_validated() -> None:
    texts: list[JsonValue] = ["a"] * MAX_VISITS_OF_DATA

    (violation,) = find_violations(TEXTS, texts)

    assert f"more than {MAX_VISITS_OF_DATA:,} steps" in violation.message


@pytest.mark.serial
def test_a_response_of_ten_megabytes_with_a_mismatch_in_each_value_takes_little_time() -> None:
    schema: Schema = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}
    value: JsonValue = [{"a": number} for number in range(700_000)]

    began = time.thread_time()
    violations = find_violations(schema, value)
    took = time.thread_time() - began

    assert len(violations) == 1
    assert took < 0.5, "the event loop waits meanwhile; without the bound it takes 10 s"
