"""The shape of a request says by which rules it is answered."""

from typing import Any

import pytest

from rightseat.faces.openbb.request import versions

HUMAN = {"role": "human", "content": "Hi"}
OLD_CALL = {"role": "ai", "content": '{"function":"get_widget_data","input_arguments":{"widget_uuid":"u"}}'}
NEW_CALL = {"role": "ai", "content": '{"function":"f","input_arguments":{"data_sources":[{"widget_uuid":"u"}]}}'}


@pytest.mark.parametrize(
    "body",
    [
        {"widgets": []},
        {"context": [{"data": {"content": "pizza"}}]},
        {"messages": [HUMAN, {"role": "tool", "function": "f", "data": {"content": "1"}}]},
        {"messages": [HUMAN, {"role": "tool", "function": "f", "content": "1"}]},
        {"messages": [HUMAN, OLD_CALL]},
    ],
)
def test_shapes_of_2024_are_known(body: dict[str, Any]) -> None:
    assert versions.detect({"messages": [HUMAN], **body}) == "legacy"


@pytest.mark.parametrize(
    "body",
    [
        {"widgets": {"primary": []}},
        {"context": [{"data": {"items": []}}]},
        {"messages": [HUMAN, {"role": "tool", "function": "f", "data": []}]},
        {"messages": [HUMAN, NEW_CALL], "tools": []},
        {"timezone": "UTC"},
        {"messages": [HUMAN, {"role": "ai", "content": "x", "agent_id": "a"}]},
    ],
)
def test_shapes_of_today_are_known(body: dict[str, Any]) -> None:
    assert versions.detect({"messages": [HUMAN], **body}) == "new"


def test_a_request_of_messages_alone_is_answered_with_what_clients_of_2024_know() -> None:
    assert versions.detect({"messages": [HUMAN, {"role": "ai", "content": "Hello"}, None], "context": None}) == "legacy"
