"""What the model may do to the dashboard, in the shapes that Workspace takes."""

from typing import Any

import pytest

from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.request.types import Param, Widget
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools import dashboards
from rightseat.faces.openbb.tools.functions import WorkspaceFunction
from tests.faces.openbb import serving

UUID = "8103de22-3364-547c-b273-118eca455677"
PRICE = Widget(UUID, "OpenBB API", "eod_price", "Historical Stock Price", params=(Param("symbol"),), group="secondary")
EXTRA = Widget("x", "OpenBB API", "news", "News", group="extra")


def session_of(**more: Any) -> Session:
    return serving.session_of(**({"widgets": (PRICE, EXTRA), "options": {"generative-ui": True}} | more))


def functions(session: Session) -> dict[str, WorkspaceFunction]:
    return {function.name: function for function in dashboards.functions(session)}


def test_the_dashboard_is_touched_only_where_the_user_switched_it_on() -> None:
    assert sorted(functions(session_of())) == [
        "add_generative_widget",
        "add_widget_to_dashboard",
        "manage_navigation_bar",
        "update_widget_in_dashboard",
    ]
    assert not functions(session_of(options={}))
    assert not functions(session_of(version="legacy"))
    assert sorted(functions(session_of(widgets=()))) == ["add_generative_widget", "manage_navigation_bar"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        (
            "add_widget_to_dashboard",
            {"data_sources": [{"origin": "OpenBB API", "id": "eod_price", "input_args": {"symbol": "MSFT"}}]},
        ),
        ("update_widget_in_dashboard", {"data_sources": [{"widget_uuid": UUID, "input_args": {"symbol": "MSFT"}}]}),
        ("add_generative_widget", {"widget_type": "note", "data": "# Hello", "name": "Note", "description": "A note"}),
        ("add_generative_widget", {"widget_type": "html", "data": "<b>Hello</b>", "name": "Card"}),
        (
            "add_generative_widget",
            {
                "widget_type": "chart",
                "data": [{"x": 1, "y": 2}],
                "name": "C",
                "chart_params": {"chartType": "line", "xKey": "x", "yKey": ["y"]},
            },
        ),
        ("manage_navigation_bar", {"operation": "create", "tabs": [{"name": "AAPL Analysis"}]}),
        ("manage_navigation_bar", {"operation": "rename_tabs", "rename_map": {"Old": "New"}}),
    ],
)
def test_right_arguments_are_those_of_the_wire(name: str, arguments: dict[str, Any]) -> None:
    function = functions(session_of())[name]

    assert function.write(arguments) == arguments
    assert function.announce is not None
    assert function.announce(arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("add_widget_to_dashboard", {}, "data_sources must be a list"),
        ("add_widget_to_dashboard", {"data_sources": [{"origin": "x", "id": "y"}]}, "There is no widget 'y'"),
        (
            "add_widget_to_dashboard",
            {"data_sources": [{"origin": "OpenBB API", "id": "eod_price", "input_args": {"ticker": "A"}}]},
            "has no argument ticker. It has: symbol",
        ),
        ("update_widget_in_dashboard", {"data_sources": [{"widget_uuid": "?", "input_args": {}}]}, "on the dashboard"),
        ("add_generative_widget", {"widget_type": "video", "name": "x", "data": "x"}, "widget_type must be one of"),
        ("add_generative_widget", {"widget_type": "note", "name": "x", "data": [1]}, "data of a note must be a text"),
        ("add_generative_widget", {"widget_type": "table", "name": "x", "data": "x"}, "data must be a list"),
        ("add_generative_widget", {"widget_type": "chart", "name": "x", "data": [{"a": 1}]}, "needs chart_params"),
        (
            "add_generative_widget",
            {"widget_type": "html", "name": "x", "data": "<b onclick=x>x</b><script>1</script>"},
            "Leave out of the HTML: <script>, onclick of <b>",
        ),
        ("add_generative_widget", {"widget_type": "html", "name": "x", "data": "x" * 20_001}, "at most 20,000"),
        ("manage_navigation_bar", {"operation": "burn"}, "operation must be one of"),
        ("manage_navigation_bar", {"operation": "create", "tabs": [{}]}, "needs a name"),
        ("manage_navigation_bar", {"operation": "rename_tabs"}, "needs rename_map"),
    ],
)
def test_wrong_arguments_are_refused_with_what_would_be_right(
    name: str, arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BadRequest, match=problem):
        functions(session_of())[name].write(arguments)


def test_a_long_list_of_widgets_is_truncated_with_a_note() -> None:
    many = tuple(Widget(str(number), "O", f"w{number}", f"W{number}", group="extra") for number in range(70))

    offer = functions(session_of(widgets=many))["add_widget_to_dashboard"].offer

    assert "10 more" in offer.description
