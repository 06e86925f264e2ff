"""What the configuration may say, and what it means when it says nothing."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from rightseat.config.access import Access, FaceAccess
from rightseat.config.telemetry import Telemetry
from rightseat.core.admission import MAX_CONCURRENT_RUNS_PER_USER
from rightseat.parts import Kind, Reference

DEFAULT_TYPES: dict[Kind, str] = {"agents": "loop", "logs": "sqlite", "stores": "sql", "engines": "local"}
"""What `type` is where it is left out. A model or a face has none: it must be said."""

HOST = re.compile(r"[0-9A-Za-z_.-]+|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
LOOPBACK_NAMES = ("localhost", "localhost.localdomain")


def _check_origin(origin: str) -> str:
    """What a browser sends as `Origin`: a scheme, a host, perhaps a port. A slash at the end would never match."""
    parts = urlsplit(origin)
    if origin != "*" and origin != f"{parts.scheme}://{parts.netloc}":
        raise PydanticCustomError(
            "origin", "should be like http://localhost:3000, without a path or a slash at its end"
        )
    return origin


def _check_host(host: str) -> str:
    """What a client sends as `Host`, without its port."""
    if host != "*" and not HOST.fullmatch(host):
        raise PydanticCustomError("host", "should be a name or an address like copilot.example.com, without a port")
    return host


Origin = Annotated[str, AfterValidator(_check_origin)]
HostName = Annotated[str, AfterValidator(_check_host)]


class Server(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    host: str = "127.0.0.1"
    """The address to listen on. `0.0.0.0` is every address of the machine."""
    port: int = Field(default=8000, ge=0, le=65535)
    """The port to listen on; 0 takes a free one."""
    origins: tuple[Origin, ...] | None = None
    """The web pages that may call, such as `http://localhost:3000`. Left out: pages of this machine, if `host` is this
    machine alone, else none. `*` is every page, without cookies."""
    hosts: tuple[HostName, ...] = ()
    """The names that this server answers for, beside `host`, `localhost` and the addresses of this machine; any port
    will do. `*` is every name, for a server behind a proxy that checks them."""
    open_to_the_network: bool = False
    """Listen on an address that other machines reach, although there are no keys: anyone can use your models."""
    headers: tuple[str, ...] = ()
    """Request headers that such pages may send, beside those that CopilotKit sends."""
    docs: bool = False
    """List the addresses of this server at `/docs`, and at `/openapi.json` for programs. They need a key where there
    are keys."""
    read_timeout: float = Field(default=30.0, gt=0)
    """How many seconds a client has to begin its next request, and how many to send the whole of it."""
    write_timeout: float = Field(default=60.0, gt=0)
    """After how many seconds a client that reads nothing of its response is disconnected."""
    max_concurrent_runs_per_user: int | None = Field(default=MAX_CONCURRENT_RUNS_PER_USER, ge=0)
    """How many runs one authenticated user may have at once in this process, over all faces and keys; further ones are
    refused. 0 or `null` is no limit. Those who come without a key have none."""
    grace: int = Field(default=5, ge=0)
    """How many seconds open answers have to end when the server stops."""
    state: Path = Path(".rightseat")
    """The folder for what is kept: threads, and what was said in them. A relative path is one beside this file."""

    @property
    def is_local(self) -> bool:
        """Can only this machine reach it?"""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host in LOOPBACK_NAMES


class HookNames(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    before_request: tuple[Reference, ...] = ()
    """Called with the ask before a run; may return another one, or refuse it."""
    after_request: tuple[Reference, ...] = ()
    """Called with the ask and what was said, after a run."""
    on_error: tuple[Reference, ...] = ()
    """Called with the ask and the failure, when a run fails: its code, source, operation, agent, node and duration."""


class File(BaseModel):
    """The top of the file. What a part may say is known to the part, and checked there."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    models: dict[str, Any] = Field(default_factory=dict)
    """The language models, by names of your own. Left out: OpenAI's if OPENAI_API_KEY is set, else the built-in one."""
    toolboxes: dict[str, Any] = Field(default_factory=dict)
    """Where tools come from, by names of your own that agents list."""
    agents: dict[str, Any] = Field(default_factory=dict)
    """What answers, by names that clients use. Left out: one named `default`, with the model."""
    guards: list[Any] = Field(default_factory=list)
    """What may be asked, said and done: checks around every agent and every model, in this order."""
    faces: list[Any] = Field(default_factory=list)
    """The protocols that are spoken. Left out: CopilotKit's at `/copilotkit`, and OpenAI's at `/v1`."""
    server: Server = Server()
    """Where to listen, and for whom."""
    access: Access = Access()
    """Who may call: keys and tokens. Left out: anyone who reaches it."""
    log: Any = None
    """Where runs are written and read."""
    threads: Any = None
    """Where threads are kept."""
    engine: Any = None
    """What keeps runs alive."""
    telemetry: Telemetry = Telemetry()
    """What the server tells of itself: traces and log lines. The face `metrics` shows counters."""
    hooks: HookNames = HookNames()
    """Functions of yours, as `module:function`, called around every run."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part as the file asks for it: the module, and its options. Nothing is built yet.

    `access` is a face's: who may use it. None leaves it to whether there are keys.
    """

    kind: Kind
    type: str
    module: ModuleType
    options: BaseModel
    access: FaceAccess | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """What a file says, checked. `path` is None where there was no file."""

    models: Mapping[str, Part]
    toolboxes: Mapping[str, Part]
    agents: Mapping[str, Part]
    guards: tuple[Part, ...]
    faces: tuple[Part, ...]
    log: Part
    threads: Part
    engine: Part
    server: Server
    hooks: HookNames
    access: Access
    telemetry: Telemetry
    path: Path | None = None


def default_models(environ: Mapping[str, str]) -> dict[str, Any]:
    """With a key, the model it is for; without one, the built-in model, so that a first start always works."""
    key = environ.get("OPENAI_API_KEY")
    if not key:
        return {"default": {"type": "scripted"}}
    model: dict[str, Any] = {"type": "openai", "model": "gpt-4o-mini", "api_key": key}
    if base_url := environ.get("OPENAI_BASE_URL"):
        model["base_url"] = base_url  # the key is for this server, and must not go to another
    return {"default": model}


def default_agents(models: Mapping[str, Any]) -> dict[str, Any]:
    """One agent with the model `default`, or with the only model there is."""
    return {"default": {"type": "loop", "model": next(iter(models)) if len(models) == 1 else "default"}}


def default_faces(agents: Mapping[str, Any]) -> list[Any]:
    """CopilotKit, where chats that name no agent go to `default` or to the only agent there is; and OpenAI's API."""
    only = next(iter(agents)) if len(agents) == 1 else None
    return [{"type": "copilotkit", "agent": "default" if "default" in agents else only}, {"type": "openai"}]
