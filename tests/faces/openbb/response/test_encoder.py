"""Events of a run become the bytes of an answer."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from rightseat.core.events import (
    Custom,
    Event,
    Interrupt,
    ModelResponseEnded,
    RunFailed,
    RunFinished,
    RunStarted,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.log import Entry
from rightseat.core.messages import Call, Message, Result
from rightseat.core.types import JsonValue
from rightseat.faces.openbb.request.parser import parse
from rightseat.faces.openbb.request.state import CarriedCall
from rightseat.faces.openbb.response.encoder import ResponseEncoder
from rightseat.plugins.charts.echarts import build_option
from rightseat.plugins.charts.kinds import KINDS
from rightseat.plugins.charts.spec import ChartSpec
from rightseat.plugins.charts.table import ChartTable
from tests.faces.openbb.serving import Sent, data_of, events, names, open_session, question, text_of, widget

STATUS = "copilotStatusUpdate"
TEXT: list[Event] = [
    TextStarted("m"),
    TextDelta("m", "Hel"),
    TextDelta("m", "lo."),
    TextEnded("m"),
    ModelResponseEnded("stop"),
]


class Written:
    """What a writer said, and what it wanted to ask the client."""

    def __init__(self, *happened: Event, body: dict[str, Any] | None = None, at_once: bool = False) -> None:
        self.asked: list[tuple[Sequence[CarriedCall], Sequence[CarriedCall], Sequence[Message], int]] = []
        query = parse(json.dumps(body or question(widget())).encode())
        writer = ResponseEncoder(open_session(query), self._ask)
        entries = [Entry(1, number, event) for number, event in enumerate(happened)]
        batches = [entries] if at_once else [[entry] for entry in entries]
        self.sent: Sent = events(b"".join(writer.feed(batch) or b"" for batch in batches).decode())

    def _ask(self, *asked: Any) -> bytes:
        self.asked.append(asked)
        return b'event: copilotFunctionCall\ndata: {"function":"get_widget_data","input_arguments":{}}\n\n'


def call(id: str, name: str = "read_eod_price", arguments: str = "{}") -> list[Event]:
    return [ToolCallStarted(id, name), ToolCallDelta(id, arguments), ToolCallEnded(id)]


def test_text_is_the_same_in_whatever_batches_it_comes() -> None:
    happened: list[Event] = [RunStarted("r", "t", "a"), *TEXT, StateReplaced({}), RunFinished("done")]

    one_by_one, at_once = Written(*happened), Written(*happened, at_once=True)

    assert one_by_one.sent == at_once.sent
    assert [data["delta"] for data in data_of(at_once.sent, "copilotMessageChunk")] == ["Hel", "lo."]


CHART: dict[str, JsonValue] = {
    "kind": "chart",
    "name": "Sales",
    "id": "file_1",
    "media_type": "application/json",
    "option": {
        "dataset": {"dimensions": ["month", "sales"], "source": [{"month": 1, "sales": 3}, {"month": 2, "sales": 4}]},
        "series": [{"type": "bar", "name": "sales"}],
    },
}


def change_chart(series: dict[str, JsonValue]) -> dict[str, JsonValue]:
    option = CHART["option"]
    assert isinstance(option, dict)
    return CHART | {"option": {**option, "series": [series]}}


def test_a_chart_that_workspace_cannot_draw_becomes_a_link_with_a_warning() -> None:
    radar = Custom("artifact", change_chart({"type": "radar", "name": "sales"}))

    sent = Written(*TEXT, radar, RunFinished("done")).sent

    (status,) = data_of(sent, STATUS)
    assert status["eventType"] == "WARNING"
    assert status["message"] == "Workspace cannot draw the chart Sales. The answer ends with a link to it."
    assert "type must be one of line, bar, scatter, pie, donut, not 'radar'." in json.dumps(status["details"])
    assert "Sales" in text_of(sent)
    assert not data_of(sent, "copilotMessageArtifact")


@pytest.mark.parametrize("type", KINDS)
def test_workspace_draws_every_kind_of_chart_that_flows_have(type: str) -> None:
    table = ChartTable({"month": "number", "sales": "number"}, [{"month": 1, "sales": 3}, {"month": 2, "sales": 4}])
    option, _ = build_option(ChartSpec(type, "month", ("sales",), title="Sales"), table)

    sent = Written(Custom("artifact", CHART | {"option": option}), RunFinished("done")).sent

    assert not data_of(sent, STATUS), "add it to openbb/tools/charts.py, if Workspace draws it, or accept the link here"
    (chart,) = data_of(sent, "copilotMessageArtifact")
    assert chart["chart_params"]["chartType"] in (type, "donut")


def test_only_what_the_server_did_not_run_is_for_the_client() -> None:
    happened: list[Event] = [
        *call("c1", "run_sql"),
        *call("c2"),
        ModelResponseEnded("tool_calls"),
        ToolCallReturned("c1", "run_sql", "1"),
    ]

    written = Written(*happened, RunFinished("waiting"))

    ((calls, waiting, before, answers),) = written.asked
    assert [one.id for one in calls] == ["c1", "c2"]
    assert [one.id for one in waiting] == ["c2"]
    assert [message.parts for message in before] == [(Result("c1", "run_sql", "1"),)]
    assert answers == 1
    assert names(written.sent)[-1] == "copilotFunctionCall"


def test_what_the_server_ran_in_earlier_answers_is_kept_in_order() -> None:
    first: list[Event] = [
        *call("c1", "run_sql"),
        ModelResponseEnded("tool_calls"),
        ToolCallReturned("c1", "run_sql", "1"),
    ]
    second: list[Event] = [
        *call("c2", "run_sql"),
        ModelResponseEnded("tool_calls"),
        ToolCallReturned("c2", "run_sql", "2"),
    ]

    written = Written(*first, *second, *call("c3"), ModelResponseEnded("tool_calls"), RunFinished("waiting"))

    ((calls, _, before, answers),) = written.asked
    assert [one.id for one in calls] == ["c3"]
    assert [part for message in before for part in message.parts] == [
        Call("c1", "run_sql", "{}"),
        Result("c1", "run_sql", "1"),
        Call("c2", "run_sql", "{}"),
        Result("c2", "run_sql", "2"),
    ]
    assert answers == 3


def test_a_step_waits_for_the_end_of_the_text_and_comes_before_the_call() -> None:
    written = Written(*TEXT[:-1], *call("c1"), ModelResponseEnded("tool_calls"), RunFinished("waiting"))

    assert names(written.sent) == ["copilotMessageChunk", "copilotMessageChunk", STATUS, "copilotFunctionCall"]


def test_steps_of_an_agent_warnings_of_a_model_and_failed_tools_are_shown() -> None:
    failed: list[Event] = [
        *call("c1", "get_weather"),
        ModelResponseEnded("tool_calls"),
        ToolCallReturned("c1", "get_weather", "No.", "tool_failed"),
    ]
    used: list[Event] = [
        *call("c2", "get_weather"),
        ModelResponseEnded("tool_calls"),
        ToolCallReturned("c2", "get_weather", "Sun."),
    ]
    steps: list[Event] = [StepStarted("plan"), StepEnded("plan"), Custom("model.warning", "Too many tools.")]

    written = Written(*steps, *failed, *used, *TEXT, RunFinished("done"))

    assert [(one["eventType"], one["message"]) for one in data_of(written.sent, STATUS)] == [
        ("INFO", "plan"),
        ("WARNING", "Too many tools."),
        ("WARNING", "get_weather failed"),
        ("INFO", "Used get_weather"),
    ]


def test_a_truncated_response_is_marked() -> None:
    written = Written(*TEXT[:-1], ModelResponseEnded("length"), RunFinished("done"))

    assert [one["message"] for one in data_of(written.sent, STATUS)] == [
        "The answer was cut off at the model's length limit"
    ]


def test_suggestions_come_last() -> None:
    happened: list[Event] = [Custom("openbb.suggestions", ["And MSFT?"]), *TEXT, RunFinished("done")]

    assert names(Written(*happened).sent)[-1] == "copilotPromptSuggestions"


def test_a_call_that_needs_an_approval_is_reported() -> None:
    question_of_ours = Interrupt("i", "approval_required", "May it?", "c1")

    written = Written(
        *call("c1", "delete_all"), ModelResponseEnded("tool_calls"), RunFinished("waiting", (question_of_ours,))
    )

    assert text_of(written.sent).startswith("delete_all needs approval")
    assert not written.asked


def test_a_call_that_workspace_cannot_run_is_reported() -> None:
    written = Written(*call("c1", "open_the_window"), ModelResponseEnded("tool_calls"), RunFinished("waiting"))

    assert text_of(written.sent) == "The agent called open_the_window, which Workspace cannot run. Nothing was done."
    assert not written.asked


def test_a_stopped_response_is_marked() -> None:
    assert text_of(Written(*TEXT, RunFinished("cancelled")).sent) == "Hello.\n\nThe answer was stopped."


def test_an_old_client_gets_text_events_only() -> None:
    old = {"messages": question()["messages"], "widgets": []}
    happened: list[Event] = [
        StepStarted("plan"),
        Custom("openbb.suggestions", ["x"]),
        Custom("openbb.citations", []),
        *TEXT,
    ]

    written = Written(*happened, RunFailed("internal_error", "It broke."), body=old)

    assert set(names(written.sent)) == {"copilotMessageChunk"}
    assert text_of(written.sent) == "Hello.\n\nIt broke."
