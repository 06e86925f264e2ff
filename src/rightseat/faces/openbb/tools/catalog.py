"""Maps the tool calls of a model response to requests for the client, which takes one request at a time.

Widgets are read together in one request; clients of 2024 read one widget per request. Further requests wait in the
signed state (`state.State.queue`) and are sent one by one as results arrive.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightseat.faces.openbb.request.state import CarriedCall, ClientRequest
from rightseat.faces.openbb.request.types import Query, Widget
from rightseat.faces.openbb.tools import mcp, widgets
from rightseat.faces.openbb.tools.extra_widgets import extra_widget_function, extra_widgets, key_of
from rightseat.faces.openbb.tools.functions import Arguments, StatusStep, WorkspaceFunction
from rightseat.faces.openbb.tools.tool_names import UniqueNames
from rightseat.faces.openbb.tools.widget_options import option_functions

BATCH_KEYS = {widgets.GET_WIDGET_DATA: "data_sources", widgets.GET_OPTIONS: "param_options_queries"}
"""Functions that take several items at once, and the argument that lists them."""


class FunctionCatalog:
    """The functions that the client can run, by the tool names of the model.

    It starts with widgets, their options and MCP tools; `add` adds the rest.
    """

    __slots__ = (
        "_mcp_names",
        "extra_widgets",
        "functions",
        "is_legacy",
        "widget_tools",
    )

    def __init__(self, query: Query) -> None:
        self.is_legacy = query.is_legacy
        names = UniqueNames()
        self.widget_tools = widgets.widget_tools(query, names) if query.widgets else []
        self.extra_widgets = extra_widgets(query, names) if len(query.widgets) > widgets.MAX_WIDGET_TOOLS else {}
        self.functions = {tool.name: tool.function(self.is_legacy) for tool in self.widget_tools}
        if self.extra_widgets:
            function = extra_widget_function(
                self.extra_widgets, len(query.widgets) - len(self.widget_tools), is_legacy=self.is_legacy
            )
            self.functions[function.offer.name] = function
        if not self.is_legacy:
            mcp_tools = mcp.mcp_tools(query, names)
            self._mcp_names = {(one.tool.server_id, one.tool.name): one.name for one in mcp_tools}
            self.functions |= {one.name: one.function() for one in mcp_tools}
            self.add(option_functions(self.widget_tools))
        else:
            self._mcp_names = {}

    def add(self, functions: Iterable[WorkspaceFunction]) -> None:
        """A function with an existing name is ignored."""
        for function in functions:
            self.functions.setdefault(function.offer.name, function)

    def widget(self, uuid: str, origin: str = "", id: str = "") -> Widget | None:
        found = self._find_tool(uuid, origin, id)
        return found.widget if found else None

    def announce(self, call: CarriedCall) -> StatusStep | None:
        function = self.functions.get(call.name)
        if function is None or function.announce is None:
            return None
        step = function.announce(arguments_of(call))
        return StatusStep(step) if isinstance(step, str) else step

    def reconstruct_calls(self, function: str, arguments: Mapping[str, Any], id: str) -> list[CarriedCall]:
        """Reconstruct the model calls that led to a request whose state is lost."""
        if function == mcp.EXECUTE_TOOL:
            key = (str(arguments.get("server_id")), str(arguments.get("tool_name")))
            name = self._mcp_names.get(key) or UniqueNames().reserve(key[1])
            return [CarriedCall(id, name, as_json(arguments.get("parameters") or {}))]
        if "widget_uuid" in arguments:
            return [self._read_call(id, str(arguments["widget_uuid"]), "", "", {})]
        listed = arguments.get("data_sources")
        sources = [source for source in listed if isinstance(source, dict)] if isinstance(listed, list) else []
        if not function.startswith("get_") or not sources:
            return [CarriedCall(id, function, as_json(arguments))]
        return [
            self._read_call(
                f"{id}_{place}",
                str(source.get("widget_uuid", "")),
                str(source.get("origin", "")),
                str(source.get("id", "")),
                source.get("input_args"),
            )
            for place, source in enumerate(sources)
        ]

    def _read_call(self, id: str, uuid: str, origin: str, widget_id: str, arguments: Any) -> CarriedCall:
        tool = self._find_tool(uuid, origin, widget_id)
        given = arguments if isinstance(arguments, dict) else {}
        if tool is not None and tool not in self.widget_tools:
            given = {"widget": key_of(self.extra_widgets, tool), "input_args": given}
        name = tool.name if tool else UniqueNames().reserve(f"read_{widget_id or uuid or 'widget'}")
        return CarriedCall(id, name, as_json(given))

    def _find_tool(self, uuid: str, origin: str, id: str) -> widgets.WidgetTool | None:
        known = [*self.widget_tools, *self.extra_widgets.values()]
        for tool in known:
            if uuid and tool.widget.uuid == uuid:
                return tool
        same = (tool for tool in known if id and (tool.widget.origin, tool.widget.widget_id) == (origin, id))
        return next(same, None)


def plan_requests(calls: Sequence[CarriedCall], catalog: FunctionCatalog) -> list[ClientRequest]:
    """Plan requests in the order of the calls; calls that can be batched join the first of their kind."""
    requests: list[ClientRequest] = []
    for call in calls:
        function = catalog.functions[call.name]
        new_request = ClientRequest(function.name, function.write(arguments_of(call)), ((call.id,),))
        joined = _merge(requests, new_request) if not catalog.is_legacy else _merge_equal(requests, new_request)
        if not joined:
            requests.append(new_request)
    return requests


def _merge(requests: list[ClientRequest], new_request: ClientRequest) -> bool:
    """Merge the request into one of the same function, if that takes several items."""
    key = BATCH_KEYS.get(new_request.function)
    if key is None:
        return False
    for place, request in enumerate(requests):
        if request.function != new_request.function:
            continue
        things, answers = list(request.arguments[key]), list(request.answers)
        for thing, ids in zip(new_request.arguments[key], new_request.answers, strict=True):
            if thing in things:  # duplicates are requested once
                answers[things.index(thing)] += ids
            else:
                things.append(thing)
                answers.append(ids)
        requests[place] = ClientRequest(request.function, {key: things}, tuple(answers))
        return True
    return False


def _merge_equal(requests: list[ClientRequest], new_request: ClientRequest) -> bool:
    for place, request in enumerate(requests):
        if (request.function, request.arguments) == (new_request.function, new_request.arguments):
            requests[place] = ClientRequest(
                request.function, request.arguments, (request.answers[0] + new_request.answers[0],)
            )
            return True
    return False


def arguments_of(call: CarriedCall) -> Arguments:
    try:
        found = json.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
