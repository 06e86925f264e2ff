"""The flows of agents: a list, and the graph of each."""

from collections.abc import Iterator, Sequence

import msgspec
from starlette.responses import Response

from rightseat.access.route_auth import RouteAuth
from rightseat.core.ask import Principal, includes_agent
from rightseat.core.runtime import Runtime
from rightseat.faces._shared.responses import json_response
from rightseat.faces.operator.requests import OperatorRequest, Routes
from rightseat.operations.flows import FlowGraph, FlowSummary, ListsFlows, find_flow_lists
from rightseat.operations.rights import OperatorNotFound


class FlowLine(FlowSummary, frozen=True):
    """A flow, with the agents that run it."""

    agents: Sequence[str]


class FlowNotFound(OperatorNotFound):
    def __init__(self, plugin: str, flow: str, digest: str | None) -> None:
        version = f" in the version {digest[:12]}. Versions are removed days after their last run" if digest else ""
        super().__init__(f"There is no flow {plugin}.{flow}{version}.")


class FlowRoutes:
    def __init__(self, runtime: Runtime, auth: RouteAuth) -> None:
        self._runtime = runtime
        self._auth = auth

    def routes(self) -> Routes:
        return {("GET", "flows"): self.list, ("GET", "flows/{plugin}/{flow}"): self.show}

    async def list(self, request: OperatorRequest) -> Response:
        """Each flow once, with the agents that run it."""
        agents: dict[FlowSummary, list[str]] = {}
        for name, agent in self._agents(request.principal):
            for flow in agent.list_flows(request.principal):
                agents.setdefault(flow, []).append(name)
        return json_response([describe_flow(flow, names) for flow, names in agents.items()])

    async def show(self, request: OperatorRequest) -> Response:
        plugin, flow = request.id("plugin"), request.id("flow")
        digest = request.http.query_params.get("digest")
        for name, agent in self._agents(request.principal):
            if graph := await agent.find_graph(request.principal, plugin, flow, digest):
                return json_response(graph if may_read_definitions(request, name) else remove_definitions(graph))
        raise FlowNotFound(plugin, flow, digest)

    def _agents(self, principal: Principal) -> Iterator[tuple[str, ListsFlows]]:
        for name, agent in self._runtime.agents.items():
            if self._auth.may_use(principal, name):
                yield from ((name, one) for one in find_flow_lists(agent))


def describe_flow(flow: FlowSummary, agents: list[str]) -> FlowLine:
    return FlowLine(**msgspec.structs.asdict(flow), agents=agents)


def may_read_definitions(request: OperatorRequest, agent: str) -> bool:
    return includes_agent(request.rights.read, agent) or includes_agent(request.rights.author, agent)


def remove_definitions(graph: FlowGraph) -> FlowGraph:
    return msgspec.structs.replace(
        graph,
        nodes=tuple(msgspec.structs.replace(node, definition=None) for node in graph.nodes),
        on_error=msgspec.structs.replace(graph.on_error, definition=None),
    )
