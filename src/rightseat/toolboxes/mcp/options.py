"""The options of an MCP server, and those of the servers that clients may request."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError

from rightseat.egress.network import NetworkOptions
from rightseat.egress.options import BaseUrl, HeaderName, HeaderSecret
from rightseat.parts import StatePath


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

    @property
    def has_server(self) -> bool:
        """False if there are only servers that clients may request."""
        return self.url is not None or self.command is not None

    @property
    def plain_env(self) -> Mapping[str, str]:
        return {name: value.get_secret_value() for name, value in self.env.items()}

    @property
    def plain_headers(self) -> Mapping[str, str]:
        return {name.lower(): value.get_secret_value() for name, value in self.headers.items()}

    @property
    def hash(self) -> str:
        """Identifies the server to MCP App pages, which send it back with their requests."""
        named = json.dumps([self.name, self.url, self.command, *self.args])
        return hashlib.sha256(named.encode()).hexdigest()[:32]

    @property
    def pin_key(self) -> str:
        """The key of its pins."""
        return f"{self.name}-{self.hash[:8]}"

    @property
    def where(self) -> str:
        """The URL for logs, without the query, which may contain a key."""
        return self.url.partition("?")[0] if self.url else self.command or self.name

    def only_reads(self, tool: str) -> bool:
        return "*" in self.read_only_tools or tool in self.read_only_tools


OF_REQUESTED_SERVER = (
    *NetworkOptions.model_fields,
    "prefix",
    "tools",
    "timeout",
    "discovery_timeout",
    "cache_seconds",
    "on_tool_change",
    "instructions",
    "resources",
    "prompts",
    "apps",
)
"""What a server that clients may request has in common with the configured one: nothing that is secret."""


def name_server(options: Options) -> Options:
    """The options of the configured server, with its name."""
    name = options.name or find_host(options.url) or Path(options.command or "mcp").stem
    return options.model_copy(update={"name": name})


def build_requested(url: str, options: Options) -> Options:
    """The options of a server that clients may request: without the operator's keys, which are only sent to `url`."""
    common = {field: getattr(options, field) for field in OF_REQUESTED_SERVER}
    return Options(url=url).model_copy(update={**common, "name": find_host(url)})


def list_servers(options: Options) -> list[Options]:
    """The configured server, and those that clients may request."""
    own = [name_server(options)] if options.has_server else []
    return own + [build_requested(url, options) for url in options.client_servers]


def find_host(url: str | None) -> str:
    return "" if url is None else urlsplit(url).hostname or ""
