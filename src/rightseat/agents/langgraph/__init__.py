"""LangGraph graphs as agents: on a LangGraph server (`url`), or in this process (`graph`)."""

from importlib import import_module
from typing import Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from rightseat.agents.langgraph.platform import LangGraphPlatform
from rightseat.core.agent import Agent
from rightseat.core.errors import ConfigError
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import BaseUrl, HeaderName, HeaderSecret
from rightseat.installation import install_command
from rightseat.parts import Parts, Reference


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    url: BaseUrl | None = None
    """The URL of a LangGraph server: `langgraph dev`, LangGraph Platform, or your own."""
    assistant: str = "agent"
    """The name of the graph on the server, or the id of an assistant."""
    api_key: HeaderSecret | None = None
    """Sent to the server as `x-api-key`."""
    headers: dict[HeaderName, HeaderSecret] = Field(default_factory=dict)
    """Sent with every request to the server."""
    forward: tuple[HeaderName, ...] = ()
    """Headers of the client's request that are forwarded to the server, of those listed in `headers` of the face."""
    header_hook: Reference | None = None
    """An async function of yours, as `module:function`: it receives the ask before each request and returns headers."""
    timeout: float = Field(default=300.0, gt=0)
    """The longest time without an event, in seconds, before a run fails."""
    graph: Reference | None = None
    """A compiled graph in this process, as `module:name`, instead of `url`. Without a checkpointer of its own, its
    threads are stored in memory."""
    config: dict[str, JsonValue] = Field(default_factory=dict)
    """The `config` of every run, such as `recursion_limit`."""
    client_config: bool = False
    """Whether a client may add to `config` with the `config` that its web page sets for the agent. Leave it off if the
    graph trusts its `configurable`, for example a user name in it."""
    description: str = ""
    """The purpose of the agent: users read it to choose an agent, models to decide whether to hand over to it."""
    show_errors: bool = False
    """Whether clients receive the graph's own error message when it fails. It is the text of an exception; by default
    it is only logged."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.url is None) == (self.graph is None):
            raise ValueError("set either `url`, for a graph on a server, or `graph`, for one in this process")
        if self.url is None and (self.proxy is not None or self.tls is not None):
            raise ValueError("`proxy` and `tls` need `url`: a graph in this process sends no requests")
        if self.header_hook is not None and self.url is None:
            raise ValueError("`header_hook` needs `url`: a graph in this process receives no headers")
        return self


def build(options: Options, parts: Parts) -> Agent:
    if options.url is not None:
        return LangGraphPlatform(
            options.url,
            options.assistant,
            headers=options.headers | ({"x-api-key": options.api_key} if options.api_key else {}),
            forward=options.forward,
            header_hook=options.header_hook,
            timeout=options.timeout,
            config=options.config,
            client_config=options.client_config,
            description=options.description,
            show_errors=options.show_errors,
            network=options,
        )
    try:
        local = import_module("rightseat.agents.langgraph.local")  # large, and only needed here
    except ModuleNotFoundError as error:
        raise ConfigError(f"A graph in this process needs LangGraph: {install_command('langgraph')}") from error
    agent: Agent = local.LocalGraph(
        options.graph,
        config=options.config,
        client_config=options.client_config,
        description=options.description,
        show_errors=options.show_errors,
    )
    return agent
