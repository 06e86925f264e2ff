"""The calls of one answer of a model → requests to the client, which takes one at a time.

Widgets are read together in one request; an old client reads one widget a request. What does not fit into the first
request waits in its state (`state.State.queue`), and goes out when the result of the one before it comes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightseat.faces.openbb import mcp, widgets
from rightseat.faces.openbb.asking import Query, Widget
from rightseat.faces.openbb.functions import Arguments, Function, Step
from rightseat.faces.openbb.naming import Names
from rightseat.faces.openbb.options import option_functions
from rightseat.faces.openbb.others import key_of, other_function, others
from rightseat.faces.openbb.state import Made, Request

TOGETHER = {widgets.READ: "data_sources", widgets.OPTIONS: "param_options_queries"}
"""Functions that take several things at once, and where."""


class Catalogue:
    """What the client can do for the model in this answer, by the names that the model knows.

    From the start it has what reads widgets and their options and calls MCP tools; `add` takes the rest.
    """

    __slots__ = ("_executes", "functions", "legacy", "others", "reads")

    def __init__(self, query: Query) -> None:
        self.legacy = query.legacy
        names = Names()
        self.reads = widgets.reads(query, names) if query.widgets else []
        self.others = others(query, names) if len(query.widgets) > widgets.MOST else {}
        self.functions = {read.name: read.function(self.legacy) for read in self.reads}
        if self.others:
            function = other_function(self.others, len(query.widgets) - len(self.reads), legacy=self.legacy)
            self.functions[function.offer.name] = function
        if not self.legacy:
            executes = mcp.executes(query, names)
            self._executes = {(one.tool.server_id, one.tool.name): one.name for one in executes}
            self.functions |= {one.name: one.function() for one in executes}
            self.add(option_functions(self.reads))
        else:
            self._executes = {}

    def add(self, functions: Iterable[Function]) -> None:
        """A name that is known already keeps its function."""
        for function in functions:
            self.functions.setdefault(function.offer.name, function)

    def widget(self, uuid: str, origin: str = "", id: str = "") -> Widget | None:
        found = self._read(uuid, origin, id)
        return found.widget if found else None

    def announce(self, call: Made) -> Step | None:
        function = self.functions.get(call.name)
        if function is None or function.announce is None:
            return None
        said = function.announce(arguments_of(call))
        return Step(said) if isinstance(said, str) else said

    def read_back(self, function: str, arguments: Mapping[str, Any], id: str) -> list[Made]:
        """The calls of the model that must have led to a request, where its state is lost."""
        if function == mcp.EXECUTE:
            key = (str(arguments.get("server_id")), str(arguments.get("tool_name")))
            name = self._executes.get(key) or Names().take(key[1])
            return [Made(id, name, as_json(arguments.get("parameters") or {}))]
        if "widget_uuid" in arguments:
            return [self._reading(id, str(arguments["widget_uuid"]), "", "", {})]
        sources = [one for one in arguments.get("data_sources") or () if isinstance(one, dict)]
        if not function.startswith("get_") or not sources:
            return [Made(id, function, as_json(arguments))]
        return [
            self._reading(
                f"{id}_{place}",
                str(one.get("widget_uuid", "")),
                str(one.get("origin", "")),
                str(one.get("id", "")),
                one.get("input_args"),
            )
            for place, one in enumerate(sources)
        ]

    def _reading(self, id: str, uuid: str, origin: str, widget_id: str, arguments: Any) -> Made:
        read = self._read(uuid, origin, widget_id)
        given = arguments if isinstance(arguments, dict) else {}
        if read is not None and read not in self.reads:
            given = {"widget": key_of(self.others, read), "input_args": given}
        name = read.name if read else Names().take(f"read_{widget_id or uuid or 'widget'}")
        return Made(id, name, as_json(given))

    def _read(self, uuid: str, origin: str, id: str) -> widgets.Read | None:
        known = [*self.reads, *self.others.values()]
        for read in known:
            if uuid and read.widget.uuid == uuid:
                return read
        same = (read for read in known if id and (read.widget.origin, read.widget.widget_id) == (origin, id))
        return next(same, None)


def plan(calls: Sequence[Made], catalogue: Catalogue) -> list[Request]:
    """In the order in which the model made them; what can go together goes with the first of its kind."""
    requests: list[Request] = []
    for call in calls:
        function = catalogue.functions[call.name]
        wanted = Request(function.name, function.write(arguments_of(call)), ((call.id,),))
        joined = _joined(requests, wanted) if not catalogue.legacy else _same(requests, wanted)
        if not joined:
            requests.append(wanted)
    return requests


def _joined(requests: list[Request], wanted: Request) -> bool:
    """Add it to a request for the same function, if that takes several things."""
    key = TOGETHER.get(wanted.function)
    if key is None:
        return False
    for place, request in enumerate(requests):
        if request.function != wanted.function:
            continue
        things, answers = list(request.arguments[key]), list(request.answers)
        for thing, ids in zip(wanted.arguments[key], wanted.answers, strict=True):
            if thing in things:  # the same twice is asked for once
                answers[things.index(thing)] += ids
            else:
                things.append(thing)
                answers.append(ids)
        requests[place] = Request(request.function, {key: things}, tuple(answers))
        return True
    return False


def _same(requests: list[Request], wanted: Request) -> bool:
    for place, request in enumerate(requests):
        if (request.function, request.arguments) == (wanted.function, wanted.arguments):
            requests[place] = Request(request.function, request.arguments, (request.answers[0] + wanted.answers[0],))
            return True
    return False


def arguments_of(call: Made) -> Arguments:
    try:
        found = json.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
