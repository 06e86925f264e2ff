"""Widgets, and tools of the user's servers, as a model is offered them; and what its calls become."""

import json
from typing import Any

import pytest

from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.request.parser import parse
from rightseat.faces.openbb.request.state import CarriedCall, ClientRequest
from rightseat.faces.openbb.request.types import Query
from rightseat.faces.openbb.tools.catalog import FunctionCatalog, plan_requests
from rightseat.faces.openbb.tools.tool_names import UniqueNames
from tests.faces.openbb.serving import question, widget


def query(*widgets: Any, **fields: Any) -> Query:
    return parse(json.dumps(question(*widgets, **fields)).encode())


def param(name: str, type: str, value: Any = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "description": name.title(), "current_value": value, **fields}


def made(*calls: tuple[str, dict[str, Any]]) -> list[CarriedCall]:
    return [CarriedCall(f"c{number}", name, json.dumps(arguments)) for number, (name, arguments) in enumerate(calls)]


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

    offer = FunctionCatalog(query(widget(params=params, columns=["date", "close"]))).functions["read_eod_price"].offer

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
    catalog = FunctionCatalog(query(widget(), widget("news")))
    calls = made(("read_eod_price", {}), ("read_news", {"symbol": "MSFT"}), ("read_eod_price", {"symbol": "AAPL"}))

    assert plan_requests(calls, catalog) == [
        ClientRequest(
            "get_widget_data",
            {"data_sources": [source("eod_price", symbol="AAPL"), source("news", symbol="MSFT")]},
            (("c0", "c2"), ("c1",)),
        )
    ]


def test_an_old_client_reads_one_widget_a_request() -> None:
    body = {"messages": question()["messages"], "widgets": [widget(), widget("news")]}
    catalog = FunctionCatalog(parse(json.dumps(body).encode()))
    calls = made(("read_eod_price", {}), ("read_news", {}), ("read_news", {}))

    assert [(one.arguments, one.answers) for one in plan_requests(calls, catalog)] == [
        ({"widget_uuid": "uuid-of-eod_price"}, (("c0",),)),
        ({"widget_uuid": "uuid-of-news"}, (("c1", "c2"),)),
    ]


def test_calls_of_different_functions_go_one_after_another() -> None:
    catalog = FunctionCatalog(query(widget(), tools=[mcp_tool()]))

    requests = plan_requests(made(("docs_search", {"query": "x"}), ("read_eod_price", {})), catalog)

    assert [one.function for one in requests] == ["execute_agent_tool", "get_widget_data"]
    assert requests[0].arguments == {"server_id": "docs", "tool_name": "docs_search", "parameters": {"query": "x"}}


def test_names_that_no_model_takes_are_changed_and_given_back_whole() -> None:
    odd = "docs_search.docs v2/" + "very" * 20
    catalog = FunctionCatalog(query(tools=[mcp_tool(odd), mcp_tool(odd, server_id="other")]))

    first, second = catalog.functions

    assert len(first) <= 64
    assert first != second
    assert plan_requests(made((second, {"query": "x"})), catalog)[0].arguments["tool_name"] == odd


@pytest.mark.parametrize("wish", ["", "…", "a b", "x" * 200, "déjà-vu", "get_widget"])
def test_every_name_is_one_that_models_accept(wish: str) -> None:
    names = UniqueNames()

    found = [names.reserve(wish) for _ in range(3)]

    assert len(set(found)) == 3
    assert all(name.isascii() and 0 < len(name) <= 64 and name.replace("-", "_").isidentifier() for name in found)


def test_a_missing_schema_becomes_an_empty_object() -> None:
    offers = [one.offer for one in FunctionCatalog(query(tools=[mcp_tool(input_schema=None)])).functions.values()]

    assert offers[0].parameters == {"type": "object", "properties": {}}


def test_widgets_from_anywhere_are_offered_only_where_the_user_switched_them_on() -> None:
    body = question()
    body["widgets"]["extra"] = [widget("portfolio")]
    switched_on = body | {"workspace_options": {"widget-global-search": True}}

    assert not FunctionCatalog(parse(json.dumps(body).encode())).functions
    assert [*FunctionCatalog(parse(json.dumps(switched_on).encode())).functions] == ["read_portfolio"]


def test_more_widgets_than_there_can_be_tools_share_one() -> None:
    catalog = FunctionCatalog(query(*(widget(f"w{number}") for number in range(60))))

    (request,) = plan_requests(
        made(("read_other_widget", {"widget": "w59", "input_args": {"symbol": "MSFT"}})), catalog
    )

    assert len(catalog.functions) == 49
    assert request.arguments == {"data_sources": [source("w59", symbol="MSFT")]}
    assert catalog.reconstruct_calls("get_widget_data", request.arguments, "c") == [
        CarriedCall("c_0", "read_other_widget", '{"widget":"w59","input_args":{"symbol":"MSFT"}}')
    ]
    with pytest.raises(BadRequest, match="no widget 'w1'"):
        catalog.functions["read_other_widget"].write({"widget": "w1"})


def test_sql_goes_to_a_widget_whose_rows_stay_where_they_are() -> None:
    schema = {"tableName": "PRICES", "columns": [{"name": "close", "type": "FLOAT"}]}
    catalog = FunctionCatalog(query(widget(metadata={"schema": schema})))

    (request,) = plan_requests(made(("read_eod_price", {"query": "SELECT max(close) FROM PRICES"})), catalog)

    (asked,) = request.arguments["data_sources"]
    assert asked["input_args"] == {}
    assert asked["ssm_request"]["query"] == "SELECT max(close) FROM PRICES"
    assert "PRICES (close FLOAT)" in catalog.functions["read_eod_price"].offer.description


def test_options_of_a_parameter_can_be_asked_for() -> None:
    params = [
        param("sector", "endpoint", "tech", get_options=True, options_params=["region"]),
        param("region", "string", "us"),
    ]
    catalog = FunctionCatalog(query(widget("sectors", params=params)))

    (request,) = plan_requests(made(("get_params_options", {"widget": "read_sectors", "param": "sector"})), catalog)

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


def test_the_calls_of_a_request_are_reconstructed_from_its_messages_alone() -> None:
    catalog = FunctionCatalog(query(widget(), tools=[mcp_tool()]))
    arguments = {"data_sources": [source("eod_price", symbol="MSFT"), source("gone")]}

    assert catalog.reconstruct_calls("get_widget_data", arguments, "c") == [
        CarriedCall("c_0", "read_eod_price", '{"symbol":"MSFT"}'),
        CarriedCall("c_1", "read_gone", "{}"),
    ]
    assert catalog.reconstruct_calls("get_widget_data", {"widget_uuid": "uuid-of-eod_price"}, "c") == [
        CarriedCall("c", "read_eod_price", "{}")
    ]
    called = {"server_id": "docs", "tool_name": "docs_search", "parameters": {"query": "x"}}
    assert catalog.reconstruct_calls("execute_agent_tool", called, "c") == [
        CarriedCall("c", "docs_search", '{"query":"x"}')
    ]
    assert catalog.reconstruct_calls("save_skill", {"name": "n"}, "c") == [
        CarriedCall("c", "save_skill", '{"name":"n"}')
    ]
