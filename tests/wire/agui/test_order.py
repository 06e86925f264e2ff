"""The order of events, by examples; `test_clients` holds it against the clients' own check."""

from typing import Any

import pytest

from tests.wire.agui.ordering import BadOrder, check

Json = dict[str, Any]
BEGIN: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FAIL: Json = {"type": "RUN_ERROR", "message": "no"}


def text(what: str, id: str = "m", **more: str) -> Json:
    return {"type": f"TEXT_MESSAGE_{what}", "messageId": id, **more}


def thought(what: str) -> Json:
    return {"type": f"REASONING_MESSAGE_{what}", "messageId": "x"}


GOOD: dict[str, list[Json]] = {
    "a run": [BEGIN, text("START"), text("CONTENT"), text("END"), END],
    "two at once": [BEGIN, text("START", "a"), text("START", "b"), text("END", "a"), text("END", "b"), END],
    "one after another": [BEGIN, END, BEGIN, FAIL, BEGIN, END],
    "a failure in the middle": [BEGIN, text("START"), FAIL],
    "a failure at once": [FAIL],
    "a failure after the end": [BEGIN, END, FAIL],
    "without a name": [BEGIN, text("START", subagentRunId="s"), text("CONTENT"), text("END", subagentRunId="s"), END],
}
BAD: dict[str, tuple[list[Json], str]] = {
    "no beginning": ([text("START")], "must"),
    "two beginnings": ([BEGIN, BEGIN], "going on"),
    "after the end": ([BEGIN, END, text("START")], "after the run has finished"),
    "after a failure": ([FAIL, END], "after the run has failed"),
    "begun twice": ([BEGIN, text("START"), text("START")], "begun already"),
    "not begun": ([BEGIN, text("CONTENT")], "not begun"),
    "ended twice": ([BEGIN, text("START"), text("END"), text("END")], "not begun"),
    "not ended": ([BEGIN, text("START"), END], "before the end of text m"),
    "another's": ([BEGIN, text("START", subagentRunId="s"), text("CONTENT", subagentRunId="z")], "belongs to 's'"),
    "a step that does not run": ([BEGIN, {"type": "STEP_FINISHED", "stepName": "x"}], "does not run"),
    "a subagent again": (
        [BEGIN, *({"type": f"SUBAGENT_{what}", "subagentRunId": "s"} for what in ("STARTED", "FINISHED", "STARTED"))],
        "runs once",
    ),
}


@pytest.mark.parametrize("events", GOOD.values(), ids=GOOD.keys())
def test_it_is_in_order(events: list[Json]) -> None:
    check(events)


@pytest.mark.parametrize(("events", "problem"), BAD.values(), ids=BAD.keys())
def test_it_is_not(events: list[Json], problem: str) -> None:
    with pytest.raises(BadOrder, match=problem):
        check(events)


def test_older_clients_let_thoughts_come_as_they_like() -> None:
    events = [BEGIN, thought("CONTENT"), thought("START"), END]

    check(events, "0.0.59")
    with pytest.raises(BadOrder, match="thought"):
        check(events, "1.0")
