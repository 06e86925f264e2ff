"""A loaded plugin. All values are immutable: a run keeps the version that it started with until it ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rightseat.core.types import JsonValue

Schema = Mapping[str, JsonValue]

ParameterLocation = Literal["path", "query", "header", "cookie", "body"]
MediaType = Literal["json", "form", "multipart"]
AnswerMode = Literal["auto", "last", "compose", "none"]

ON_ERROR = "on_error"
"""The name of the error step, which has none in the file, in events, records, graphs and scripts."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`digest` is the SHA-256 of the plugin's files: sorted paths and contents."""

    id: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class Auth:
    """How requests authenticate. `${secret:NAME}` in a value is resolved only when the request is sent.

    For `oidc` the arguments are `token_url` or `issuer`, `client_id`, `client_secret`, and the optional `scope`,
    `audience`, `grant`, `header` and `scheme`; the loader maps older spellings to these.
    """

    type: Literal["header", "param", "cookie", "oidc"]
    args: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter outside the body. `name` is as in the document."""

    name: str
    place: ParameterLocation
    schema: Schema
    required: bool = False
    description: str = ""
    style: str = ""
    explode: bool = False
    deprecated: bool = False


@dataclass(frozen=True, slots=True)
class RequestBody:
    """`files` are the fields of a multipart body that are files, `encodings` their declared media types."""

    media_type: MediaType
    schema: Schema
    required: bool = False
    files: frozenset[str] = frozenset()
    encodings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. Schemas are complete JSON Schema, draft 2020-12, with all references resolved.

    `statuses` are the documented status codes with their descriptions. `dangerous` is None if it is not documented.
    `request_description` belongs to the request body, `response_description` to the response whose schema is
    `response`: prompts include both.
    """

    method: str
    path: str
    id: str | None = None
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: RequestBody | None = None
    response: Schema | None = None
    statuses: Mapping[str, str] = field(default_factory=dict)
    dangerous: bool | None = None
    request_description: str = ""
    response_description: str = ""

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_safe(self) -> bool:
        """Has it no effect, so that an interrupted request may be repeated?"""
        return self.method in ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`on`: error codes and status classes, such as `timeout`, `connect`, `429`, `5xx`. `backoff` is in seconds."""

    times: int = 0
    on: frozenset[str] = frozenset()
    backoff: float = 1.0


@dataclass(frozen=True, slots=True)
class Step:
    """`call` is one of `call_types()`, or the name of a tool in `lib`, without `lib.`. `on_error` has no name."""

    name: str
    call: str
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    next: str | None = None
    dangerous: bool = False
    timeout: float | None = None
    retry: RetryPolicy | None = None
    args: Mapping[str, JsonValue] = field(default_factory=dict)
    is_lib: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """`next_flow` is None if the author does not set it, and empty to suggest nothing.

    `aliases` are other names of a flow generated from an operation. A flow that is not `enabled` needs code in `lib`
    that the operator has not allowed. `file` is the path of its file, empty for a generated flow.
    """

    name: str
    description: str
    steps: Mapping[str, Step]
    on_error: Step | None = None
    next_flow: tuple[str, ...] | None = None
    max_steps: int = 50
    timeout: float = 600.0
    answer: AnswerMode = "auto"
    aliases: tuple[str, ...] = ()
    enabled: bool = True
    file: str = ""


@dataclass(frozen=True, slots=True)
class PluginDatabase:
    """`catalog` and `bundled` are files of the plugin. Without `bundled` the operator binds a connection."""

    name: str
    description: str = ""
    catalog: Path | None = None
    bundled: Path | None = None


@dataclass(frozen=True, slots=True)
class PluginTexts:
    """The name, description and starter questions of a plugin, in one language."""

    name: str
    description: str
    starters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plugin:
    """`folder` is the server's own copy of the files, as they were when loaded.

    `server` is the base URL of the operations, without a trailing slash; empty if there are none. `operations` are by
    `METHOD /path`, `flows` by name. `allow_private` lists the `host:port` in private networks that the author requests.
    `lib` is the digest of the code in `lib/`, None if there is none.
    """

    identity: Identity
    folder: Path
    texts: PluginTexts
    i18n: Mapping[str, PluginTexts] = field(default_factory=dict)
    auth: tuple[Auth, ...] = ()
    allow_private: tuple[str, ...] = ()
    databases: Mapping[str, PluginDatabase] = field(default_factory=dict)
    server: str = ""
    operations: Mapping[str, Operation] = field(default_factory=dict)
    flows: Mapping[str, Flow] = field(default_factory=dict)
    lib: str | None = None

    @property
    def id(self) -> str:
        return self.identity.id

    def operation(self, endpoint: str) -> Operation | None:
        """By `METHOD /path`, ignoring case and white space, or by its id."""
        return find_operation(endpoint, self.operations)

    def flow(self, name: str) -> Flow | None:
        """By its name or an alias, ignoring case."""
        folded = name.casefold()
        every = self.flows.values()
        return next((one for one in every if folded in (word.casefold() for word in (one.name, *one.aliases))), None)


def list_token_urls(auth: Auth) -> tuple[str, ...]:
    """The addresses of the token server of `oidc`; empty for other types."""
    return tuple(auth.args[key] for key in ("token_url", "issuer") if auth.type == "oidc" and key in auth.args)


def find_operation(endpoint: str, operations: Mapping[str, Operation]) -> Operation | None:
    """By `METHOD /path`, ignoring case and white space, or by its id."""
    method, *path = endpoint.split(None, 1)[:2] or [""]
    named = operations.get(" ".join([method.upper(), *path]).strip())
    return named or next((one for one in operations.values() if one.id == endpoint.strip()), None)
