"""The request of OpenBB Workspace as values: one shape for current clients and clients of 2024.

Only `messages` is required and unknown fields are accepted; `raw` has the request as received.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

ProtocolVersion = Literal["new", "legacy"]
"""The protocol version that a client understands; `legacy` is that of 2024."""

WidgetGroup = Literal["primary", "secondary", "extra", "dashboard"]
"""Where a widget is: selected by the user, on the dashboard, or elsewhere in the user's Workspace. `dashboard` is the
list of 2024, whose widgets nobody has selected."""


class Param(msgspec.Struct, frozen=True):
    name: str
    type: str = "string"
    description: str = ""
    default: Any = None
    current: Any = None
    options: tuple[Any, ...] = ()
    multi_select: bool = False
    get_options: bool = False
    """Only Workspace knows its options."""
    raw: Mapping[str, Any] = {}

    @property
    def value(self) -> Any:
        """Its value on the dashboard."""
        return self.default if self.current is None else self.current


class Widget(msgspec.Struct, frozen=True):
    """`uuid` is always set: Workspace sends none for a file, and looks it up by origin and id."""

    uuid: str
    origin: str
    widget_id: str
    name: str
    description: str = ""
    params: tuple[Param, ...] = ()
    group: WidgetGroup = "primary"
    columns: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    raw: Mapping[str, Any] = {}

    @property
    def current(self) -> dict[str, Any]:
        """Its arguments on the dashboard."""
        return {param.name: param.value for param in self.params if param.value is not None}


class DataItem(msgspec.Struct, frozen=True):
    """A piece of data: its content or its URL. `format` has data_type, parse_as and filename."""

    content: str | None = None
    url: str | None = None
    format: Mapping[str, Any] = {}
    citable: bool = True


class Data(msgspec.Struct, frozen=True):
    """`extra_citations` cite the sources that the data itself is based on."""

    items: tuple[DataItem, ...] = ()
    extra_citations: tuple[Mapping[str, Any], ...] = ()


class ContextItem(msgspec.Struct, frozen=True):
    """Data in the request: selected by the user, or artifacts of earlier answers."""

    uuid: str
    name: str
    description: str
    data: Data
    metadata: Mapping[str, Any] = {}


class McpTool(msgspec.Struct, frozen=True):
    """A tool of an MCP server that the user connected to Workspace. `name` is sent back unchanged."""

    server_id: str
    name: str
    description: str
    schema: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The name without the prefix of its server."""
        return self.name.partition("_")[2] or self.name


class TextMessage(msgspec.Struct, frozen=True):
    """`is_user`: from the user, or from an agent on behalf of the user; else a response of an agent."""

    text: str
    is_user: bool


class FunctionCall(msgspec.Struct, frozen=True):
    """A function call of this server, repeated by the client. `raw` has the original content."""

    function: str
    arguments: Mapping[str, Any]
    raw: Mapping[str, Any] = {}


class DataFailure(msgspec.Struct, frozen=True):
    """A requested item that the client failed to get."""

    text: str


class CommandResult(msgspec.Struct, frozen=True):
    """The result of a command to Workspace."""

    status: str
    value: Mapping[str, Any]


Datum = Data | DataFailure | CommandResult


class FunctionResult(msgspec.Struct, frozen=True):
    """The result of a function call: `data[i]` is the i-th requested item."""

    function: str
    arguments: Mapping[str, Any]
    data: tuple[Datum, ...]
    state: Mapping[str, Any] = {}


QueryMessage = TextMessage | FunctionCall | FunctionResult


class Query(msgspec.Struct, frozen=True):
    version: ProtocolVersion
    messages: tuple[QueryMessage, ...]
    widgets: tuple[Widget, ...] = ()
    context: tuple[ContextItem, ...] = ()
    tools: tuple[McpTool, ...] = ()
    options: Mapping[str, bool | str] = {}
    urls: tuple[str, ...] = ()
    timezone: str | None = None
    workspace_state: Mapping[str, Any] = {}
    skills: tuple[Mapping[str, Any], ...] = ()
    selected_skills: tuple[Mapping[str, Any], ...] = ()
    trace_id: str = ""
    raw: Mapping[str, Any] = {}
    """The body without secrets."""
    size: int = 0
    """Bytes of the body."""
    skipped: tuple[str, ...] = ()
    """Parts of the request that could not be parsed, one line each."""

    @property
    def is_legacy(self) -> bool:
        return self.version == "legacy"

    def is_on(self, option: str) -> bool:
        """Whether the user enabled the option."""
        return self.options.get(option) is True

    @property
    def question_index(self) -> int:
        """Index of the last question; the messages after it belong to its answer."""
        places = [
            place for place, entry in enumerate(self.messages) if isinstance(entry, TextMessage) and entry.is_user
        ]
        return places[-1] if places else -1

    @property
    def messages_since_question(self) -> tuple[QueryMessage, ...]:
        return self.messages[self.question_index + 1 :]
