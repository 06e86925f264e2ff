"""How one MCP server is reached, and what of it is offered."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rightseat.egress.network import NetworkOptions


@dataclass(frozen=True, slots=True)
class Settings:
    """As the configuration says it; `Options` has the words."""

    name: str
    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    forward: tuple[str, ...] = ()
    prefix: str = ""
    tools: tuple[str, ...] | None = None
    reads: tuple[str, ...] = ()
    timeout: float = 300.0
    discover_within: float = 10.0
    keep: float = 10.0
    changed: Literal["warn", "refuse"] = "refuse"
    instructions: bool = True
    resources: bool = False
    prompts: bool = False
    apps: bool = False
    network: NetworkOptions | None = None

    @property
    def hash(self) -> str:
        """Names the server to pages, which send it back with what they ask for."""
        named = json.dumps([self.name, self.url, self.command, *self.args])
        return hashlib.sha256(named.encode()).hexdigest()[:32]

    @property
    def pin_key(self) -> str:
        """Under which its tools are pinned."""
        return f"{self.name}-{self.hash[:8]}"

    @property
    def where(self) -> str:
        """For the log: without a query, which may hold a key."""
        return self.url.partition("?")[0] if self.url else self.command or self.name

    def only_reads(self, tool: str) -> bool:
        return "*" in self.reads or tool in self.reads
