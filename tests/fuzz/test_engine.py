"""The engine finds what it is there to find."""

import asyncio
import logging
import time
from random import Random
from typing import Any

import pytest

from tests.fuzz import engine, reduction
from tests.fuzz.engine import Target, plain, run


def make(random: Random) -> Any:
    return {"text": "".join(random.choice("abcx") for _ in range(20)), "more": [1, 2, 3]}


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def crash_at_x(case: Any) -> None:
    if "x" in case.get("text", ""):
        raise ValueError("an x")


def log_at_x(case: Any) -> None:
    if "x" in case.get("text", ""):
        logging.getLogger("rightseat").error("an x", exc_info=ValueError("an x"))


def stall_at_x(case: Any) -> None:
    if "x" in case.get("text", ""):
        burn(0.3)


@pytest.mark.parametrize("check", [crash_at_x, log_at_x])
async def test_a_crash_is_minimized_and_reported_with_its_seed(check: Any) -> None:
    figures = await run(Target("sample", make, plain(check)), range(100))

    assert figures.crashes > 50
    (failure,) = figures.failures.values()
    assert failure.case == {"text": "x"}
    assert f"python -m tests.fuzz sample --seed {failure.seed} --count 1" in str(failure)
    assert "ValueError: an x" in str(failure)


async def test_a_case_runs_even_where_no_time_is_left() -> None:
    figures = await run(Target("sample", make, plain(crash_at_x)), range(100), until=time.monotonic())

    assert figures.cases == 1


async def test_a_stall_is_found_with_the_place_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduction, "TRIES", 3)

    figures = await run(Target("sample", make, plain(stall_at_x), stall_s=0.05), range(2))

    assert figures.stalls > 0
    assert figures.slowest_s >= 0.1
    assert "in burn" in figures.failures["stall"].reason


async def test_waiting_is_no_stall_but_a_case_without_an_end_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "HANG_S", 0.3)

    async def wait(case: float) -> None:
        await asyncio.sleep(case)  # it takes time, but none of the processor

    assert (await engine.judge(wait, 0.1, stall_s=0.05)).kind is None
    assert (await engine.judge(wait, 60.0)).kind == "stall"
