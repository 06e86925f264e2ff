"""What is nested too deeply is found whatever the strings around it hold."""

import time
from typing import Any

import pytest

from rightseat.wire.json_depth import find_too_deep, is_within_depth


def nested(levels: int, inner: bytes = b"1") -> bytes:
    return b'{"a":[' * (levels // 2) + inner + b"]}" * (levels // 2)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"1",
        nested(64),
        nested(64, b'"' + b"[{" * 100 + b'"'),
        b'["' + b"[" * 100 + rb"\"[\\" + b'","' + b"[" * 100 + b'"]',
        b"[" + b",".join([nested(60)] * 1000) + b"]",
        b'"\xff\x00' + b"[" * 100 + b'"',
    ],
    ids=["nothing", "a number", "64 levels", "brackets in a string", "escaped quotes", "many branches", "no UTF-8"],
)
def test_what_is_64_levels_deep_passes(body: bytes) -> None:
    assert is_within_depth(body)


@pytest.mark.parametrize(
    "body",
    [
        nested(66),
        b"[" * 65 + b"]" * 65,
        b"[" * 65,
        b"[" * 200_000 + b"]" * 200_000,
        rb'["\\",' + b"[" * 64 + b"]" * 64 + b"]",
        b'{"a":"' + b"x" * 1000 + b'","b":' + nested(64) + b"}",
    ],
    ids=["66 levels", "65 arrays", "no end", "200,000", "behind a backslash", "behind text"],
)
def test_what_is_deeper_does_not(body: bytes) -> None:
    assert not is_within_depth(body)


@pytest.mark.parametrize("body", [b"[", b'"', b'"\\"', b"]"])
def test_what_does_not_match_does_not(body: bytes) -> None:
    assert not is_within_depth(body)


@pytest.mark.parametrize("piece", [b"[],", b'"[",', b"[" * 60 + b"1" + b"]" * 60 + b",", b"a" * 100])
def test_the_time_grows_with_the_length_alone(piece: bytes) -> None:
    body = b"[" + piece * (4_000_000 // len(piece)) + b"1]"
    began = time.thread_time()

    assert is_within_depth(body)
    assert time.thread_time() - began < 0.4  # 0.02 s on an idle machine


def test_the_place_that_is_too_deep_is_named() -> None:
    schema: dict[str, Any] = {}
    for _ in range(300):
        schema = {"properties": {"a": schema}}
    tools = [{"function": {"name": "flat"}}, {"function": {"name": "deep_lookup", "parameters": schema}}]

    assert find_too_deep({"model": "m", "tools": tools}) == "tools[1].function.parameters of 'deep_lookup'"
    assert find_too_deep({"model": [{}] * 30_000, "tools": []}) == ""
