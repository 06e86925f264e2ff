"""A toolbox of the tools of an MCP server, over streamable HTTP or stdio."""

from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.tools import Toolbox
from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import BaseUrl, HeaderName, HeaderSecret
from rightseat.parts import Parts, StatePath
from rightseat.toolboxes.mcp.pin_files import FilePins
from rightseat.toolboxes.mcp.pins import Pins
from rightseat.toolboxes.mcp.server import McpServer
from rightseat.toolboxes.mcp.settings import Settings
from rightseat.toolboxes.mcp.toolbox import McpToolbox


class Options(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True)
    name: str = Field(default="", pattern=r"^[a-zA-Z0-9_-]{0,32}$")
    """The name of the server in messages, and its `serverId` in MCP Apps. Default: its host, or its program."""
    url: BaseUrl | None = None
    """The URL of a streamable HTTP server."""
    command: str | None = None
    """In place of `url`: the program of a stdio server. It is started on first use and stopped at shutdown."""
    args: tuple[str, ...] = ()
    """Command line arguments of the program."""
    env: dict[str, SecretStr] = Field(default_factory=dict)
    """Environment variables of the program. It inherits only `PATH`, `HOME` and the like."""
    headers: dict[HeaderName, HeaderSecret] = Field(default_factory=dict)
    """Headers sent with every request, such as an API key of the server."""
    forward: tuple[HeaderName, ...] = ()
    """Headers of the client's request forwarded to the server, out of those that the face forwards (`headers`).
    Each set of values has its own session."""
    prefix: str = Field(default="", pattern=r"^[a-zA-Z0-9_-]{0,32}$")
    """A prefix of its tool names, for servers whose tools have the same names."""
    tools: tuple[str, ...] | None = None
    """Names of the tools that the model gets. Default: all."""
    read_only_tools: tuple[str, ...] = ()
    """Names of tools that only read, even though the server does not declare it: they need no approval. `*` means
    all."""
    timeout: float = Field(default=300.0, gt=0)
    """Maximum duration of a tool call, in seconds."""
    discovery_timeout: float = Field(default=10.0, gt=0)
    """Seconds to connect and to list the tools."""
    cache_seconds: float = Field(default=10.0, ge=0)
    """Seconds for which the list of tools, or a failure to connect, is cached."""
    on_tool_change: Literal["warn", "refuse"] = "refuse"
    """When the description, parameters or hints of a tool, or the server's `instructions`, differ from their pins:
    `refuse` removes them until `rightseat mcp accept` accepts the change, `warn` keeps them with a warning. A changed
    tool always needs approval, whatever its hints and `read_only_tools` say."""
    pin_dir: StatePath = Path("mcp")
    """The folder of the pins: the first seen definitions of the tools of each server. With threads in PostgreSQL, pins
    are stored there, for all replicas."""
    instructions: bool = True
    """Whether the server's `instructions` are added to the prompt, up to 4,000 characters."""
    resources: bool = False
    """Whether the model gets tools to list and read the server's resources."""
    prompts: bool = False
    """Whether the model gets tools to list and get the server's prompts."""
    apps: bool = False
    """Whether tools with a page (MCP Apps) show it in clients that support it; the page may call the server."""
    client_servers: tuple[BaseUrl, ...] = ()
    """URLs of other servers that a client may request (`properties.mcpServers` or `mcpEndpoints`), compared exactly.
    Any other URL is never contacted."""

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
    pins = Pins(parts.pins or FilePins(options.pin_dir))
    main = McpServer(read_settings(options), pins) if options.url or options.command else None
    others = {url: McpServer(read_settings_of(url, options), pins) for url in options.client_servers}
    return McpToolbox(main, others)


def all_settings(options: Options) -> list[Settings]:
    """Settings of the configured server, and of those that clients may request."""
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
        read_only_tools=options.read_only_tools,
        timeout=options.timeout,
        discovery_timeout=options.discovery_timeout,
        cache_seconds=options.cache_seconds,
        on_tool_change=options.on_tool_change,
        instructions=options.instructions,
        resources=options.resources,
        prompts=options.prompts,
        apps=options.apps,
        network=options,
    )


def read_settings_of(url: str, options: Options) -> Settings:
    """Settings of a server that clients may request: without the operator's keys, which are only sent to `url`."""
    return Settings(
        name=host(url),
        url=url,
        prefix=options.prefix,
        tools=options.tools,
        timeout=options.timeout,
        discovery_timeout=options.discovery_timeout,
        cache_seconds=options.cache_seconds,
        on_tool_change=options.on_tool_change,
        instructions=options.instructions,
        resources=options.resources,
        prompts=options.prompts,
        apps=options.apps,
        network=options,
    )


def host(url: str | None) -> str:
    return "" if url is None else urlsplit(url).hostname or ""
