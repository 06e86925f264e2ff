"""State that a model is still writing."""

from typing import Any

import pytest

from rightseat.core.events import Custom, RunFinished, StateReplaced
from rightseat.core.types import JsonValue
from rightseat.faces.copilotkit.graphql.predicted_state import completed
from tests.faces.copilotkit.test_encoder import STARTED, call, merged, singly

RULES: list[JsonValue] = [{"state_key": "story", "tool": "write", "tool_argument": "text"}]


def states(events: dict[str, Any]) -> list[str]:
    return [message["state"] for message in events["messages"] if message["__typename"] == "AgentStateMessageOutput"]


def test_a_state_grows_while_the_model_writes_it() -> None:
    written = call("c", "write", '{"text": "Once', " upon", ' a time"}')
    told = StateReplaced({"story": "Once upon a time", "n": 1})

    response = merged(singly(STARTED, Custom("PredictState", RULES), *written, told, RunFinished("done")))

    assert states(response)[:3] == ['{"story":"Once"}', '{"story":"Once upon"}', '{"story":"Once upon a time"}']
    assert states(response)[-1] == '{"story":"Once upon a time","n":1}'


def test_calls_of_other_tools_predict_no_state() -> None:
    written = call("c", "read", '{"text": "Once"}')

    response = merged(singly(STARTED, Custom("PredictState", RULES), *written, RunFinished("waiting")))

    assert states(response) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("{", {}),
        ('{"a', None),
        ('{"a":', {"a": None}),
        ('{"a": "he', {"a": "he"}),
        ('{"a": "he\\', {"a": "he"}),
        ('{"a": "say \\"hi', {"a": 'say "hi'}),
        ('{"a": [1,', {"a": [1]}),
        ('{"a": [1, {"b": "c', {"a": [1, {"b": "c"}]}),
        ('{"a": "x"}', {"a": "x"}),
        ("nonsense", None),
    ],
)
def test_json_is_read_as_far_as_it_is_known(text: str, value: Any) -> None:
    assert completed(text) == value
