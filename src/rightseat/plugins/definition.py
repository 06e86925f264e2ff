"""A plugin as it was loaded. Nothing here changes: a run keeps the plugin that it began with until it ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rightseat.core.values import JsonValue

Schema = Mapping[str, JsonValue]

Place = Literal["path", "query", "header", "cookie", "body"]
MediaType = Literal["json", "form", "multipart"]
AnswerMode = Literal["auto", "last", "compose", "none"]


@dataclass(frozen=True, slots=True)
class Identity:
    """`digest` is the SHA-256 over the plugin's files, their sorted paths and their contents."""

    id: str
    version: str
    digest: str


@dataclass(frozen=True, slots=True)
class Auth:
    """How requests show who sends them. A value may have `${secret:NAME}` in it, resolved only when it is sent.

    For `oidc` the arguments are `token_url` or `issuer`, `client_id`, `client_secret`, and the optional `scope`,
    `audience`, `grant`, `header` and `scheme`; older spellings have been mapped to these.
    """

    type: Literal["header", "param", "cookie", "oidc"]
    args: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value that a request takes, outside of its body. `name` is as in the document."""

    name: str
    place: Place
    schema: Schema
    required: bool = False
    description: str = ""
    style: str = ""
    explode: bool = False
    deprecated: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """`files` are the fields of a multipart body that are files, `encodings` their declared media types."""

    media_type: MediaType
    schema: Schema
    required: bool = False
    files: frozenset[str] = frozenset()
    encodings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. Schemas are whole JSON Schema, draft 2020-12, with every reference inside resolved.

    `statuses` are the documented status codes and what the document says of them. `dangerous` is None where the
    document says nothing. `request_description` is that of the request body, `response_description` that of the
    response whose schema is `response`: models read both.
    """

    method: str
    path: str
    id: str | None = None
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
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
        """Does it only look? A request that was cut off may then be sent again."""
        return self.method in ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Retry:
    """`on` are error codes and classes of status: `timeout`, `connect`, `429`, `5xx`, `llm_failed`."""

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
    retry: Retry | None = None
    args: Mapping[str, JsonValue] = field(default_factory=dict)
    is_lib: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """`next_flow` is None where the author says nothing, and empty where nothing shall be suggested.

    `aliases` are further names of a flow that was made from an operation. A flow that is not `enabled` needs `lib`,
    which the operator has not allowed.
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


@dataclass(frozen=True, slots=True)
class Database:
    """`catalog` and `bundled` are files of the plugin. Without `bundled` the operator binds a connection to it."""

    name: str
    description: str = ""
    catalog: Path | None = None
    bundled: Path | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """What people read of a plugin, in one language."""

    name: str
    description: str
    starters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plugin:
    """`folder` is where its files stand, as they were when they were loaded: a copy of our own.

    `server` is the address that operations are sent to, without a slash at its end; empty where there are none.
    `operations` are by `METHOD /path`, `flows` by name. `allow_private` is what the author asks for: `host:port` in
    networks that are not public. `lib` is the digest of the code in `lib/`, None where there is none.
    """

    identity: Identity
    folder: Path
    words: Words
    i18n: Mapping[str, Words] = field(default_factory=dict)
    auth: tuple[Auth, ...] = ()
    allow_private: tuple[str, ...] = ()
    databases: Mapping[str, Database] = field(default_factory=dict)
    server: str = ""
    operations: Mapping[str, Operation] = field(default_factory=dict)
    flows: Mapping[str, Flow] = field(default_factory=dict)
    lib: str | None = None

    @property
    def id(self) -> str:
        return self.identity.id

    def operation(self, endpoint: str) -> Operation | None:
        """By `METHOD /path`, whatever the case and the white space, or by its id."""
        return find_operation(endpoint, self.operations)

    def flow(self, name: str) -> Flow | None:
        """By its name or an alias; upper and lower case are one."""
        wanted = name.casefold()
        every = self.flows.values()
        return next((one for one in every if wanted in (word.casefold() for word in (one.name, *one.aliases))), None)


def find_operation(endpoint: str, operations: Mapping[str, Operation]) -> Operation | None:
    """By `METHOD /path`, whatever the case and the white space, or by its id."""
    method, *path = endpoint.split(None, 1)[:2] or [""]
    named = operations.get(" ".join([method.upper(), *path]).strip())
    return named or next((one for one in operations.values() if one.id == endpoint.strip()), None)
