"""Settings of one MCP server."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rightseat.egress.network import NetworkOptions


@dataclass(frozen=True, slots=True)
class Settings:
    """See `Options` for the descriptions."""

    name: str
    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    forward: tuple[str, ...] = ()
    prefix: str = ""
    tools: tuple[str, ...] | None = None
    read_only_tools: tuple[str, ...] = ()
    timeout: float = 300.0
    discovery_timeout: float = 10.0
    cache_seconds: float = 10.0
    on_tool_change: Literal["warn", "refuse"] = "refuse"
    instructions: bool = True
    resources: bool = False
    prompts: bool = False
    apps: bool = False
    network: NetworkOptions | None = None

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
