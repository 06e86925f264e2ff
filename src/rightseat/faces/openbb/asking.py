"""What Workspace asks, as values: one shape for the clients of 2024 and for today's.

Nothing of a request is required but its messages, and nothing that is not known is refused: `raw` has it as it came.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Era = Literal["new", "legacy"]
"""By which rules a request is answered. `either` is one that shows no sign: it gets what both kinds of clients know."""

Group = Literal["primary", "secondary", "extra"]
"""How a widget came: picked by the user, on the dashboard, or anywhere in the user's Workspace."""


class Param(msgspec.Struct, frozen=True):
    name: str
    type: str = "string"
    description: str = ""
    default: Any = None
    current: Any = None
    options: tuple[Any, ...] = ()
    multi_select: bool = False
    get_options: bool = False
    """Its options are Workspace's to tell."""
    raw: Mapping[str, Any] = {}

    @property
    def value(self) -> Any:
        """What it has on the dashboard."""
        return self.default if self.current is None else self.current


class Widget(msgspec.Struct, frozen=True):
    """`uuid` is always filled: Workspace sends none for a file, and finds it by its origin and id."""

    uuid: str
    origin: str
    widget_id: str
    name: str
    description: str = ""
    params: tuple[Param, ...] = ()
    group: Group = "primary"
    columns: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    raw: Mapping[str, Any] = {}

    @property
    def current(self) -> dict[str, Any]:
        """The arguments that it has on the dashboard."""
        return {param.name: param.value for param in self.params if param.value is not None}


class Item(msgspec.Struct, frozen=True):
    """A piece of data: its content, or where it is. `format` says what it is: data_type, parse_as, filename."""

    content: str | None = None
    url: str | None = None
    format: Mapping[str, Any] = {}
    citable: bool = True


class Data(msgspec.Struct, frozen=True):
    """`passed_on` are citations that came with it, of whatever it is based on itself."""

    items: tuple[Item, ...] = ()
    passed_on: tuple[Mapping[str, Any], ...] = ()


class Fact(msgspec.Struct, frozen=True):
    """Data that the request brings along: what the user picked, and artifacts that an answer made."""

    uuid: str
    name: str
    description: str
    data: Data
    metadata: Mapping[str, Any] = {}


class McpTool(msgspec.Struct, frozen=True):
    """A tool of a server that the user connected. `name` is given back whole."""

    server_id: str
    name: str
    description: str
    schema: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Without the server that it is of."""
        return self.name.partition("_")[2] or self.name


class Said(msgspec.Struct, frozen=True):
    """`human`: what the user, or an agent in the user's place, wants; else what an agent answered."""

    text: str
    human: bool


class Called(msgspec.Struct, frozen=True):
    """A function call of ours, as the client repeats it. `raw` has what an old client gives back verbatim."""

    function: str
    arguments: Mapping[str, Any]
    raw: Mapping[str, Any] = {}


class Failure(msgspec.Struct, frozen=True):
    """One thing that was asked for could not be had."""

    text: str


class Done(msgspec.Struct, frozen=True):
    """What a command to Workspace gave."""

    status: str
    value: Mapping[str, Any]


Datum = Data | Failure | Done


class Returned(msgspec.Struct, frozen=True):
    """What a function call gave: `data[i]` answers the i-th thing that was asked for."""

    function: str
    arguments: Mapping[str, Any]
    data: tuple[Datum, ...]
    state: Mapping[str, Any] = {}


Entry = Said | Called | Returned


class Query(msgspec.Struct, frozen=True):
    era: Era
    messages: tuple[Entry, ...]
    widgets: tuple[Widget, ...] = ()
    context: tuple[Fact, ...] = ()
    tools: tuple[McpTool, ...] = ()
    options: Mapping[str, bool | str] = {}
    urls: tuple[str, ...] = ()
    timezone: str | None = None
    workspace_state: Mapping[str, Any] = {}
    skills: tuple[Mapping[str, Any], ...] = ()
    selected_skills: tuple[Mapping[str, Any], ...] = ()
    trace_id: str = ""
    raw: Mapping[str, Any] = {}
    """The body, without the secrets in it."""
    size: int = 0
    """Bytes of the body."""
    left_out: tuple[str, ...] = ()
    """What could not be understood, one line each."""

    @property
    def legacy(self) -> bool:
        return self.era == "legacy"

    def is_on(self, option: str) -> bool:
        """Did the user switch it on?"""
        return self.options.get(option) is True

    @property
    def question(self) -> int:
        """Where the last question stands among the messages; what follows it belongs to its answer."""
        places = [place for place, entry in enumerate(self.messages) if isinstance(entry, Said) and entry.human]
        return places[-1] if places else -1

    @property
    def since(self) -> tuple[Entry, ...]:
        return self.messages[self.question + 1 :]
