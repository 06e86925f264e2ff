"""The keys of the configuration file, their defaults, and the parsed `Config`."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from rightseat.config.access import Access, FaceAccess
from rightseat.config.evals import EvalOptions
from rightseat.config.telemetry import Telemetry
from rightseat.config.urls import is_loopback
from rightseat.config.webhook import WebhookOptions
from rightseat.limits.admission import MAX_CONCURRENT_RUNS_PER_USER
from rightseat.limits.options import Count, LimitOptions, TimeZone
from rightseat.limits.read_limits import MAX_CONCURRENT_READS_PER_USER, MAX_CONCURRENT_STREAMS_PER_USER
from rightseat.operations.memories import MemoryOptions
from rightseat.parts import PartKind, Reference

DEFAULT_TYPES: dict[PartKind, str] = {"agents": "loop", "logs": "sqlite", "stores": "sql", "engines": "local"}
"""The default of `type`. Models and faces have none: their type must be given."""

HOST_PATTERN = re.compile(r"[0-9A-Za-z_.-]+|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")


def _check_origin(origin: str) -> str:
    """A browser sends a scheme, a host and perhaps a port as `Origin`. A trailing slash would never match."""
    parts = urlsplit(origin)
    if origin != "*" and origin != f"{parts.scheme}://{parts.netloc}":
        raise PydanticCustomError("origin", "should be like http://localhost:3000, without a path or a trailing slash")
    return origin


def _check_host(host: str) -> str:
    """A client sends a name or an address as `Host`; the port is ignored."""
    if host != "*" and not HOST_PATTERN.fullmatch(host):
        raise PydanticCustomError("host", "should be a name or an address like copilot.example.com, without a port")
    return host


def _check_public_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_plain = parts.port != 0 and not (parts.query or parts.fragment or parts.username)
    except ValueError:  # a port that is no number, or half an IPv6 address
        is_plain = False
    if not is_plain or parts.scheme not in ("http", "https") or not HOST_PATTERN.fullmatch(parts.hostname or ""):
        raise PydanticCustomError("public_url", "should be like https://copilot.example.com, perhaps with a path")
    return url.rstrip("/")


def _check_proxy(proxy: str) -> str:
    try:
        return proxy if proxy == "*" else str(ipaddress.ip_network(proxy)).removesuffix("/32").removesuffix("/128")
    except ValueError as error:
        raise PydanticCustomError("proxy", "should be an address or a network like 10.0.0.0/8") from error


Origin = Annotated[str, AfterValidator(_check_origin)]
HostName = Annotated[str, AfterValidator(_check_host)]
PublicUrl = Annotated[str, AfterValidator(_check_public_url)]
Proxy = Annotated[str, AfterValidator(_check_proxy)]


class Server(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    host: str = "127.0.0.1"
    """The address to listen on. `0.0.0.0` is every address of the machine."""
    port: int = Field(default=8000, ge=0, le=65535)
    """The port to listen on; 0 takes a free one."""
    public_url: PublicUrl | None = None
    """The address that clients use, such as `https://copilot.example.com`, if a reverse proxy is in front. Links to
    files and the addresses in documents begin with it, its host is accepted like one of `hosts`, and pages of its
    origin may call. A server with a public URL needs keys, even on a loopback `host`. Left out: the scheme and host of
    each request."""
    trusted_proxies: tuple[Proxy, ...] = ("127.0.0.1", "::1")
    """The addresses and networks of reverse proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` `rightseat serve`
    trusts: they set the scheme and the client's address. From other addresses these headers are ignored. `*` trusts
    every client. `X-Forwarded-Host` is never read: the proxy passes `Host` on, or `public_url` is set."""
    origins: tuple[Origin, ...] | None = None
    """The origins of web pages that may call, such as `http://localhost:3000`. Left out: origins of this machine if
    `host` and `public_url` are addresses of this machine too, else none. `*` allows every origin, without cookies."""
    hosts: tuple[HostName, ...] = ()
    """The host names that this server responds to, beside `host`, `localhost` and the addresses of this machine, with
    any port. `*` allows every name, for a server behind a proxy that checks them."""
    allow_unauthenticated: bool = False
    """Allow `host` or `public_url` to be an address that other machines reach without any keys: anyone can use your
    models."""
    headers: tuple[str, ...] = ()
    """Request headers that web pages may send, beside those of CopilotKit and OpenAI's clients."""
    docs: bool = False
    """List the routes of this server at `/docs`, and at `/openapi.json` for programs. They require a key if there are
    keys."""
    read_timeout: float = Field(default=30.0, gt=0)
    """Seconds within which a client must start its next request, and within which it must send all of it."""
    write_timeout: float = Field(default=60.0, gt=0)
    """Seconds after which a client that does not read its response is disconnected."""
    max_concurrent_runs_per_user: int | None = Field(default=MAX_CONCURRENT_RUNS_PER_USER, ge=0)
    """The maximum number of concurrent runs of one authenticated user in this process, over all faces and keys; further
    runs are refused. 0 or `null` means no limit. Requests without a key are not limited."""
    max_concurrent_reads_per_user: int | None = Field(default=MAX_CONCURRENT_READS_PER_USER, ge=0)
    """How many requests of one authenticated user read stored threads, responses and files at a time in this process. A
    further one waits up to 5 seconds, and is then refused. A client that does not read its response counts until it is
    disconnected. 0 or `null` means no limit."""
    max_concurrent_streams_per_user: int | None = Field(default=MAX_CONCURRENT_STREAMS_PER_USER, ge=0)
    """How many streams one authenticated user may have open in this process: live views of the console, and streams
    that follow a run which another request has started. Further ones are refused. 0 or `null` means no limit."""
    shutdown_timeout: int = Field(default=5, ge=0)
    """Seconds within which active runs must end when the server stops."""
    state_dir: Path = Path(".rightseat")
    """The folder for stored data, such as threads and their messages. A relative path is relative to this file."""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it, directly and through a proxy."""
        return is_loopback(self.host) and (self.public_host is None or is_loopback(self.public_host))

    @property
    def public_host(self) -> str | None:
        return urlsplit(self.public_url).hostname if self.public_url else None

    @property
    def public_origin(self) -> str | None:
        """What browsers send as `Origin` for pages below the public URL."""
        parts = urlsplit(self.public_url or "")
        return f"{parts.scheme}://{parts.netloc}".lower() if self.public_url else None

    @property
    def names(self) -> tuple[str, ...]:
        """The host names that are accepted, beside those of this machine."""
        return (self.host, *self.hosts, *filter(None, (self.public_host,)))


class HookNames(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    before_request: tuple[Reference, ...] = ()
    """Called with the ask before a run; may return another ask, or refuse it."""
    after_request: tuple[Reference, ...] = ()
    """Called with the ask and the messages after a run."""
    on_error: tuple[Reference, ...] = ()
    """Called with the ask and the failure, when a run fails: its code, source, operation, agent, node and duration."""


class PriceOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    input: float = Field(ge=0, allow_inf_nan=False)
    """The price of a million input tokens."""
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """The price of a million input tokens that the provider read from its cache. Left out: the same as `input`."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """The price of a million output tokens, reasoning included."""


class ConfigFile(BaseModel):
    """The top level of the file. The options of parts are validated by the parts."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    models: dict[str, Any] = Field(default_factory=dict)
    """The language models, by names of your own. Default: OpenAI's if OPENAI_API_KEY is set, else the demo model."""
    toolboxes: dict[str, Any] = Field(default_factory=dict)
    """Sources of tools, by names of your own that agents list."""
    agents: dict[str, Any] = Field(default_factory=dict)
    """The agents, by the names that clients use. Default: one named `default`, with the model."""
    guards: list[Any] = Field(default_factory=list)
    """Guardrails: checks of input, output and tool calls around every agent and every model, in this order."""
    faces: list[Any] = Field(default_factory=list)
    """The protocols that are served. Left out: CopilotKit's at `/copilotkit`, OpenAI's at `/v1`, and the console at
    `/console`."""
    server: Server = Server()
    """The address to listen on, limits and timeouts."""
    access: Access = Access()
    """Authentication: API keys and tokens. By default every client that reaches the server may use it."""
    log: Any = None
    """The event log of runs."""
    threads: Any = None
    """The store of threads."""
    engine: Any = None
    """The engine that executes runs."""
    telemetry: Telemetry = Telemetry()
    """Traces and log lines. The face `metrics` serves counters."""
    hooks: HookNames = HookNames()
    """Functions of yours, as `module:function`, that are called around every run."""
    prices: dict[str, PriceOptions] = Field(default_factory=dict)
    """What a million tokens cost, by a name under `models` or the provider's name of a model. The console shows the
    cost of runs whose models have a price."""
    currency: str = "USD"
    """The currency of `prices`: a label, nothing is converted."""
    limits: list[LimitOptions] = Field(default_factory=list)
    """Limits and budgets: requests, concurrent runs, tokens and cost of users, keys, agents, addresses or everyone.
    Every limit that matches a request applies; the first in this order that is exceeded refuses it."""
    limits_reserve: dict[str, Count] = Field(default_factory=dict)
    """By a name under `models`: the most tokens of an answer where a limit of tokens or cost applies and the request
    has no `max_tokens`. So many are reserved, and sent to the provider as the bound. Left out: 4,096."""
    limits_webhook: WebhookOptions | None = None
    """A server of yours that is notified when 80 % of a budget of tokens or cost are used."""
    timezone: TimeZone = "UTC"
    """The time zone in which the days and months of limits and of the usage report begin, such as `Europe/Berlin`."""
    memory: MemoryOptions = MemoryOptions()
    """The limits of what agents with `memory` remember about users. It is stored beside the threads."""
    evals: EvalOptions = EvalOptions()
    """Cases that are pinned from runs, and replayed by `rightseat eval`."""


@dataclass(frozen=True, slots=True)
class ConfiguredPart:
    """A configured part: its module and its validated options, not built yet.

    `access` is set for faces. None requires keys if there are any.
    """

    kind: PartKind
    type: str
    module: ModuleType
    options: BaseModel
    access: FaceAccess | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """A validated configuration. `path` is None without a file."""

    models: Mapping[str, ConfiguredPart]
    toolboxes: Mapping[str, ConfiguredPart]
    agents: Mapping[str, ConfiguredPart]
    guards: tuple[ConfiguredPart, ...]
    faces: tuple[ConfiguredPart, ...]
    log: ConfiguredPart
    threads: ConfiguredPart
    engine: ConfiguredPart
    server: Server
    hooks: HookNames
    access: Access
    telemetry: Telemetry
    prices: Mapping[str, PriceOptions]
    currency: str
    limits: tuple[LimitOptions, ...]
    limits_reserve: Mapping[str, int]
    limits_webhook: WebhookOptions | None
    timezone: str
    memory: MemoryOptions = field(default_factory=MemoryOptions)
    evals: EvalOptions = field(default_factory=EvalOptions)
    path: Path | None = None

    @property
    def evals_folder(self) -> Path:
        """The folder of the datasets."""
        return self.evals.folder or (self.path.parent if self.path else Path()) / "evals"


def default_models(environ: Mapping[str, str]) -> dict[str, Any]:
    """OpenAI's model if its key is set, else the built-in one, so that a first start always works."""
    key = environ.get("OPENAI_API_KEY")
    if not key:
        return {"default": {"type": "scripted"}}
    model: dict[str, Any] = {"type": "openai", "model": "gpt-4o-mini", "api_key": key}
    if base_url := environ.get("OPENAI_BASE_URL"):
        model["base_url"] = base_url  # the key belongs to this server and must not be sent to another
    return {"default": model}


def default_agents(models: Mapping[str, Any]) -> dict[str, Any]:
    """One agent with the model `default`, or with the only model."""
    return {"default": {"type": "loop", "model": next(iter(models)) if len(models) == 1 else "default"}}


def default_faces(agents: Mapping[str, Any]) -> list[Any]:
    """CopilotKit, whose default agent is `default` or the only agent; OpenAI's API; and the console."""
    only = next(iter(agents)) if len(agents) == 1 else None
    copilotkit = {"type": "copilotkit", "agent": "default" if "default" in agents else only}
    return [copilotkit, {"type": "openai"}, {"type": "operator"}, {"type": "console"}]
