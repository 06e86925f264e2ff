"""LangGraph graphs: of a LangGraph server (`url`), or of a Python module in this very process (`graph`)."""

from importlib import import_module
from typing import Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from rightseat.agents.langgraph.platform import Platform
from rightseat.core.agent import Agent
from rightseat.core.errors import ConfigError
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import Address, HeaderName, Sendable
from rightseat.parts import Parts, Reference


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    url: Address | None = None
    """Where a LangGraph server is: `langgraph dev`, LangGraph Platform, or one of your own."""
    assistant: str = "agent"
    """The server's name for the graph, or the id of one of its assistants."""
    api_key: Sendable | None = None
    """Sent to the server as `x-api-key`."""
    headers: dict[HeaderName, Sendable] = Field(default_factory=dict)
    """Sent with every request to the server."""
    forward: tuple[HeaderName, ...] = ()
    """Headers of the client's request that the server gets too, of those that the face passes on with its `headers`."""
    header_hook: Reference | None = None
    """An async function of yours, as `module:function`. It gets the ask before each request, and returns headers."""
    patience: float = Field(default=300.0, gt=0)
    """The longest silence of the server, in seconds, before a run is given up."""
    graph: Reference | None = None
    """A compiled graph in this process, as `module:name`, in place of `url`. Without a checkpointer of its own, its
    threads are kept in memory."""
    config: dict[str, JsonValue] = Field(default_factory=dict)
    """The `config` that every run gets, such as `recursion_limit`."""
    client_config: bool = False
    """Whether a client may add to `config`, with what its page gives an agent as `config`. A graph that trusts its
    `configurable`, such as the name of a user in it, should not be told by the client."""
    description: str = ""
    """What the agent is good for: read by people who choose one, and by models that may hand over to it."""
    show_errors: bool = False
    """Whether clients see the graph's own words when it fails. They are the text of an exception, so without it they go
    to the server's log alone."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.url is None) == (self.graph is None):
            raise ValueError("give either `url`, for a graph of a server, or `graph`, for one in this process")
        if self.url is None and (self.proxy is not None or self.tls is not None):
            raise ValueError("`proxy` and `tls` are for a graph of a server: a graph in this process sends no requests")
        if self.header_hook is not None and self.url is None:
            raise ValueError("`header_hook` is for a graph of a server: a graph in this process is sent no headers")
        return self


def build(options: Options, parts: Parts) -> Agent:
    if options.url is not None:
        return Platform(
            options.url,
            options.assistant,
            headers=options.headers | ({"x-api-key": options.api_key} if options.api_key else {}),
            forward=options.forward,
            header_hook=options.header_hook,
            patience=options.patience,
            config=options.config,
            client_config=options.client_config,
            description=options.description,
            show_errors=options.show_errors,
            network=options,
        )
    try:
        local = import_module("rightseat.agents.langgraph.local")  # large, and only needed here
    except ModuleNotFoundError as error:
        raise ConfigError("A graph in this process needs LangGraph: pip install 'rightseat[langgraph]'.") from error
    agent: Agent = local.Local(
        options.graph,
        config=options.config,
        client_config=options.client_config,
        description=options.description,
        show_errors=options.show_errors,
    )
    return agent
