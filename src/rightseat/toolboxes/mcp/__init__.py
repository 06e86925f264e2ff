"""The tools of an MCP server: over streamable HTTP, or of a program that is started here."""

from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.tools import Toolbox
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import Address, HeaderName, Sendable
from rightseat.parts import Parts, StatePath
from rightseat.toolboxes.mcp.box import Box
from rightseat.toolboxes.mcp.pin_files import FilePins
from rightseat.toolboxes.mcp.pinning import Pins
from rightseat.toolboxes.mcp.server import Server
from rightseat.toolboxes.mcp.settings import Settings


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True)
    name: str = Field(default="", pattern=r"^[a-zA-Z0-9_-]{0,32}$")
    """What the server is called in messages, and its `serverId` in MCP Apps. Unset: its host, or its program."""
    url: Address | None = None
    """Where the server is, if it is reached over streamable HTTP."""
    command: str | None = None
    """In place of `url`: the program that is the server. It is started at its first use, and ends with this server."""
    args: tuple[str, ...] = ()
    """What the program is started with."""
    env: dict[str, SecretStr] = Field(default_factory=dict)
    """Variables of the program's environment. It gets no others of this server's, but for `PATH`, `HOME` and such."""
    headers: dict[HeaderName, Sendable] = Field(default_factory=dict)
    """Sent with every request, such as a key of the server."""
    forward: tuple[HeaderName, ...] = ()
    """Headers of the client's request that the server gets too, of those that the face passes on with its `headers`.
    Whoever sends others has a session of their own."""
    prefix: str = Field(default="", pattern=r"^[a-zA-Z0-9_-]{0,32}$")
    """Put before the names of its tools, where two servers have tools of one name."""
    tools: tuple[str, ...] | None = None
    """Names of those of its tools that the model gets. Unset: all."""
    reads: tuple[str, ...] = ()
    """Names of tools that only look, though the server does not say so: no person is asked before one runs. `*` is all
    of them."""
    timeout: float = Field(default=300.0, gt=0)
    """How long a call may take, in seconds."""
    discover_within: float = Field(default=10.0, gt=0)
    """How long the server has, in seconds, to take a connection and to say what it offers."""
    keep: float = Field(default=10.0, ge=0)
    """For how long, in seconds, what it offers is remembered, or that it could not be reached."""
    changed: Literal["warn", "refuse"] = "refuse"
    """What becomes of a tool whose description, parameters or hints changed since they were first seen, and of the
    server's `instructions`: left out until `rightseat mcp accept` accepts the change, or offered with a warning. A
    person is asked before a changed tool runs, whatever its hints and `reads` say."""
    pins: StatePath = Path("mcp")
    """The folder of the pins: what the tools of each server first looked like. With threads in PostgreSQL they are
    kept there, for all servers that share it."""
    instructions: bool = True
    """Whether the model is told what the server says of the use of its tools, in up to 4,000 characters."""
    resources: bool = False
    """Whether the model gets tools to list and read the server's resources."""
    prompts: bool = False
    """Whether the model gets tools to list and get the server's prompts."""
    apps: bool = False
    """Whether tools with a page of their own (MCP Apps) show it in clients that can; the page may ask the server."""
    client_servers: tuple[Address, ...] = ()
    """Addresses of other servers that a client may name (`properties.mcpServers` or `mcpEndpoints`), in exactly these
    words. No other address that a client names is ever visited."""

    @model_validator(mode="after")
    def _one_server(self) -> Self:
        if self.url is not None and self.command is not None:
            raise PydanticCustomError("mcp_server", "should have `url` or `command`, and not both")
        if self.url is None and self.command is None and not self.client_servers:
            raise PydanticCustomError("mcp_server", "should have `url`, `command` or `client_servers`")
        if self.command is None and (self.args or self.env):
            raise PydanticCustomError("mcp_server", "`args` and `env` are for a server with a `command`")
        if self.command is not None and (self.headers or self.forward):
            raise PydanticCustomError("mcp_server", "`headers` and `forward` are for a server with a `url`")
        if self.url is None and not self.client_servers and (self.proxy or self.tls):
            raise PydanticCustomError("mcp_server", "`proxy` and `tls` are for a server with a `url`")
        return self


def build(options: Options, parts: Parts) -> Toolbox:
    pins = Pins(parts.pins or FilePins(options.pins))
    main = Server(read_settings(options), pins) if options.url or options.command else None
    others = {url: Server(read_settings_of(url, options), pins) for url in options.client_servers}
    return Box(main, others)


def all_settings(options: Options) -> list[Settings]:
    """Of the server that is configured, and of those that clients may name."""
    own = [read_settings(options)] if options.url or options.command else []
    return own + [read_settings_of(url, options) for url in options.client_servers]


def read_settings(options: Options) -> Settings:
    return Settings(
        name=options.name or host(options.url) or Path(options.command or "mcp").stem,
        url=options.url,
        command=options.command,
        args=options.args,
        env={name: value.get_secret_value() for name, value in options.env.items()},
        headers={name.lower(): value.get_secret_value() for name, value in options.headers.items()},
        forward=options.forward,
        prefix=options.prefix,
        tools=options.tools,
        reads=options.reads,
        timeout=options.timeout,
        discover_within=options.discover_within,
        keep=options.keep,
        changed=options.changed,
        instructions=options.instructions,
        resources=options.resources,
        prompts=options.prompts,
        apps=options.apps,
        network=options,
    )


def read_settings_of(url: str, options: Options) -> Settings:
    """Of a server that clients may name: its keys are theirs, and the operator's go nowhere but to `url`."""
    return Settings(
        name=host(url),
        url=url,
        prefix=options.prefix,
        tools=options.tools,
        timeout=options.timeout,
        discover_within=options.discover_within,
        keep=options.keep,
        changed=options.changed,
        instructions=options.instructions,
        resources=options.resources,
        prompts=options.prompts,
        apps=options.apps,
        network=options,
    )


def host(url: str | None) -> str:
    return "" if url is None else urlsplit(url).hostname or ""
