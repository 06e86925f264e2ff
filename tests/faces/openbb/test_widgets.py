"""Widgets, and tools of the user's servers, as a model is offered them; and what its calls become."""

import json
from typing import Any

import pytest

from rightseat.core.errors import BadAsk
from rightseat.faces.openbb.asking import Query
from rightseat.faces.openbb.calls import Catalogue, plan
from rightseat.faces.openbb.naming import Names
from rightseat.faces.openbb.reading import read
from rightseat.faces.openbb.state import Made, Request
from tests.faces.openbb.serving import question, widget


def query(*widgets: Any, **fields: Any) -> Query:
    return read(json.dumps(question(*widgets, **fields)).encode())


def param(name: str, type: str, value: Any = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "description": name.title(), "current_value": value, **fields}


def made(*calls: tuple[str, dict[str, Any]]) -> list[Made]:
    return [Made(f"c{number}", name, json.dumps(arguments)) for number, (name, arguments) in enumerate(calls)]


def source(id: str, **arguments: Any) -> dict[str, Any]:
    return {"widget_uuid": f"uuid-of-{id}", "origin": "OpenBB API", "id": id, "input_args": arguments}


def mcp_tool(name: str = "docs_search", **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    return {"server_id": "docs", "name": name, "description": "Search", "input_schema": schema, **fields}


def test_a_widget_is_a_tool_with_the_parameters_of_the_widget() -> None:
    params = [
        param("symbol", "ticker", "AAPL"),
        param("limit", "integer", 5),
        param("kinds", "string", ["a"], multi_select=True, options=[{"label": "A", "value": "a"}, {"value": "b"}]),
        param("since", "date"),
        param("sector", "endpoint", "tech", get_options=True),
    ]

    offer = Catalogue(query(widget(params=params, columns=["date", "close"]))).functions["read_eod_price"].offer

    assert offer.parameters == {
        "type": "object",
        "properties": {
            "symbol": {"type": "string", "description": "Symbol", "default": "AAPL"},
            "limit": {"type": "integer", "description": "Limit", "default": 5},
            "kinds": {
                "type": "array",
                "items": {"type": "string", "enum": ["a", "b"]},
                "description": "Kinds",
                "default": ["a"],
            },
            "since": {"type": "string", "description": "Since A date, as YYYY-MM-DD."},
            "sector": {
                "type": "string",
                "description": "Sector Ask get_params_options for what may be chosen.",
                "default": "tech",
            },
        },
    }
    assert offer.description.startswith('Reads the widget "Eod Price" of OpenBB API. Prices. Columns: date, close.')


def test_reads_that_a_model_asks_for_together_are_one_request_in_which_nothing_is_asked_twice() -> None:
    catalogue = Catalogue(query(widget(), widget("news")))
    calls = made(("read_eod_price", {}), ("read_news", {"symbol": "MSFT"}), ("read_eod_price", {"symbol": "AAPL"}))

    assert plan(calls, catalogue) == [
        Request(
            "get_widget_data",
            {"data_sources": [source("eod_price", symbol="AAPL"), source("news", symbol="MSFT")]},
            (("c0", "c2"), ("c1",)),
        )
    ]


def test_an_old_client_reads_one_widget_a_request() -> None:
    body = {"messages": question()["messages"], "widgets": [widget(), widget("news")]}
    catalogue = Catalogue(read(json.dumps(body).encode()))
    calls = made(("read_eod_price", {}), ("read_news", {}), ("read_news", {}))

    assert [(one.arguments, one.answers) for one in plan(calls, catalogue)] == [
        ({"widget_uuid": "uuid-of-eod_price"}, (("c0",),)),
        ({"widget_uuid": "uuid-of-news"}, (("c1", "c2"),)),
    ]


def test_calls_of_different_functions_go_one_after_another() -> None:
    catalogue = Catalogue(query(widget(), tools=[mcp_tool()]))

    requests = plan(made(("docs_search", {"query": "x"}), ("read_eod_price", {})), catalogue)

    assert [one.function for one in requests] == ["execute_agent_tool", "get_widget_data"]
    assert requests[0].arguments == {"server_id": "docs", "tool_name": "docs_search", "parameters": {"query": "x"}}


def test_names_that_no_model_takes_are_changed_and_given_back_whole() -> None:
    odd = "docs_search.docs v2/" + "very" * 20
    catalogue = Catalogue(query(tools=[mcp_tool(odd), mcp_tool(odd, server_id="other")]))

    first, second = catalogue.functions

    assert len(first) <= 64
    assert first != second
    assert plan(made((second, {"query": "x"})), catalogue)[0].arguments["tool_name"] == odd


@pytest.mark.parametrize("wish", ["", "…", "a b", "x" * 200, "déjà-vu", "get_widget"])
def test_every_name_is_one_that_models_accept(wish: str) -> None:
    names = Names()

    found = [names.take(wish) for _ in range(3)]

    assert len(set(found)) == 3
    assert all(name.isascii() and 0 < len(name) <= 64 and name.replace("-", "_").isidentifier() for name in found)


def test_a_schema_that_is_none_becomes_one() -> None:
    offers = [one.offer for one in Catalogue(query(tools=[mcp_tool(input_schema=None)])).functions.values()]

    assert offers[0].parameters == {"type": "object", "properties": {}}


def test_widgets_from_anywhere_are_offered_only_where_the_user_switched_them_on() -> None:
    body = question()
    body["widgets"]["extra"] = [widget("portfolio")]
    switched_on = body | {"workspace_options": {"widget-global-search": True}}

    assert not Catalogue(read(json.dumps(body).encode())).functions
    assert [*Catalogue(read(json.dumps(switched_on).encode())).functions] == ["read_portfolio"]


def test_more_widgets_than_there_can_be_tools_share_one() -> None:
    catalogue = Catalogue(query(*(widget(f"w{number}") for number in range(60))))

    (request,) = plan(made(("read_other_widget", {"widget": "w59", "input_args": {"symbol": "MSFT"}})), catalogue)

    assert len(catalogue.functions) == 49
    assert request.arguments == {"data_sources": [source("w59", symbol="MSFT")]}
    assert catalogue.read_back("get_widget_data", request.arguments, "c") == [
        Made("c_0", "read_other_widget", '{"widget":"w59","input_args":{"symbol":"MSFT"}}')
    ]
    with pytest.raises(BadAsk, match="no widget 'w1'"):
        catalogue.functions["read_other_widget"].write({"widget": "w1"})


def test_sql_goes_to_a_widget_whose_rows_stay_where_they_are() -> None:
    schema = {"tableName": "PRICES", "columns": [{"name": "close", "type": "FLOAT"}]}
    catalogue = Catalogue(query(widget(metadata={"schema": schema})))

    (request,) = plan(made(("read_eod_price", {"query": "SELECT max(close) FROM PRICES"})), catalogue)

    (asked,) = request.arguments["data_sources"]
    assert asked["input_args"] == {}
    assert asked["ssm_request"]["query"] == "SELECT max(close) FROM PRICES"
    assert "PRICES (close FLOAT)" in catalogue.functions["read_eod_price"].offer.description


def test_options_of_a_parameter_can_be_asked_for() -> None:
    params = [
        param("sector", "endpoint", "tech", get_options=True, options_params=["region"]),
        param("region", "string", "us"),
    ]
    catalogue = Catalogue(query(widget("sectors", params=params)))

    (request,) = plan(made(("get_params_options", {"widget": "read_sectors", "param": "sector"})), catalogue)

    assert request.arguments == {
        "param_options_queries": [
            {
                "origin": "OpenBB API",
                "id": "sectors",
                "param": "sector",
                "options_endpoint_input_args": {"region": "us"},
            }
        ]
    }


def test_what_was_asked_can_be_told_from_the_wire_alone() -> None:
    catalogue = Catalogue(query(widget(), tools=[mcp_tool()]))
    arguments = {"data_sources": [source("eod_price", symbol="MSFT"), source("gone")]}

    assert catalogue.read_back("get_widget_data", arguments, "c") == [
        Made("c_0", "read_eod_price", '{"symbol":"MSFT"}'),
        Made("c_1", "read_gone", "{}"),
    ]
    assert catalogue.read_back("get_widget_data", {"widget_uuid": "uuid-of-eod_price"}, "c") == [
        Made("c", "read_eod_price", "{}")
    ]
    called = {"server_id": "docs", "tool_name": "docs_search", "parameters": {"query": "x"}}
    assert catalogue.read_back("execute_agent_tool", called, "c") == [Made("c", "docs_search", '{"query":"x"}')]
    assert catalogue.read_back("save_skill", {"name": "n"}, "c") == [Made("c", "save_skill", '{"name":"n"}')]
