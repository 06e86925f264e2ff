"""What a style is: how the models of one family are offered tools, and how they call them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rightseat.core.model import Begun
from rightseat.core.tools import Tool
from rightseat.core.values import JsonValue
from rightseat.models.completion.engine import Description, Trigger
from rightseat.models.completion.grammar.nodes import Choice, Node, Until
from rightseat.models.completion.grammar.nodes import Literal as Exactly
from rightseat.models.completion.grammar.nodes import Sequence as Order
from rightseat.models.completion.grammar.schema import Builder
from rightseat.models.completion.reading.answers import read_calls
from rightseat.models.completion.reading.reader import Reader
from rightseat.models.completion.reading.source import Reading
from rightseat.models.completion.styles.forms import Calls, optional

Signatures = Literal["json_schema", "typescript"]
Turn = dict[str, Any]
"""One message as chat templates know it: `role`, `content`, `tool_calls`, …"""

Offer = Callable[[Sequence[Turn], Sequence[Tool], Signatures], list[Turn]]


class AskForJson(Protocol):
    def __call__(self, turns: Sequence[Turn], schema: Mapping[str, JsonValue], *, has_tools: bool) -> list[Turn]: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an answer may be: calls (one or several), and beside them a text, where `text` is not None."""

    calls: Sequence[Node]
    several: bool
    text: Node | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a family of models calls tools.

    Everything that differs from one family to the next is here, and all of it in the family's own file.
    """

    name: str
    families: str
    """Whose style it is, for people."""
    signs: tuple[str, ...]
    """What stands in a chat template of this family: all of them."""
    without: tuple[str, ...] = ()
    """What does not stand in it."""
    calls: Calls
    write: Callable[[Tool, Builder], Node] | None = None
    """The grammar of one call, where tools are called in more than one form."""
    answer: "Callable[[Reader, Style], Reading[None]]" = lambda reader, style: usual(reader, style)
    """Reads a whole answer."""
    triggers: tuple[Trigger, ...] = ()
    """What a model of this family says by itself when it begins a call. None: its every answer is held to a grammar."""
    preserved: tuple[str, ...] = ()
    """Control tokens that belong to the answer's form, and must not be left out of it."""
    stop: tuple[str, ...] = ()
    said: str = ""
    """What the prompt may end with already, though it belongs to the answer."""
    before_text: str = ""
    """What a text begins with."""
    after_text: str = ""
    """What stands between a text and a call."""
    text: Node | None = None
    """What a text may be, where it is not anything that does not begin a call."""
    lead: Node | None = None
    """What may stand before all else: a thought."""
    grammar: Callable[[Builder, Wanted], Node] | None = None
    """In place of the usual one."""
    offer: Offer | None = None
    """Puts the tools into the turns, where the template does not print them by itself."""
    ask_for_json: AskForJson | None = None
    """Puts the schema of an answer in JSON into the turns. None: the grammar alone holds the model to it."""
    history: Callable[[Sequence[Turn]], list[Turn]] | None = None
    """Writes earlier calls and their results as text, for a template that knows no such turns."""
    signatures: Signatures = "json_schema"
    id_length: int | None = None
    """Ids of calls must be just so long."""
    extras: Callable[[Sequence[Tool]], tuple[Sequence[Tool], dict[str, Any]]] | None = None
    """Which tools are not printed as such, and what the template is given in their place."""

    begun: Callable[[Begun, bool], str] | None = None
    """What was said of an answer, as the model wrote it, in place of the usual way: of an answer that broke off, and
    whether it was held to a grammar."""

    def recognises(self, template: str) -> bool:
        return all(sign in template for sign in self.signs) and not any(sign in template for sign in self.without)

    def call(self, tool: Tool, builder: Builder) -> Node:
        """The grammar of one call. Raises `Unenforceable` where none can hold a model to the tool's schema."""
        return self.write(tool, builder) if self.write else self.calls.form.node(tool, builder)

    def node(self, builder: Builder, wanted: Wanted) -> Node:
        """The grammar of a whole answer."""
        if self.grammar is not None:
            return self.grammar(builder, wanted)
        options: list[Node] = []
        if wanted.calls:
            options.append(self.calls.node(wanted.calls, several=wanted.several))
        if wanted.text is not None:
            calls = (optional(Order((Exactly(self.after_text), options[0]))),) if options else ()
            options.append(Order((Exactly(self.before_text), wanted.text, *calls)))
        root = options[0] if len(options) == 1 else Choice(tuple(options))
        return root if self.lead is None else Order((optional(self.lead), root))

    def free_text(self) -> Node:
        """Any text, up to where a call begins."""
        return self.text or Until(self.after_text or self.calls.mark)


def usual(reader: Reader, style: Style) -> Reading[None]:
    """Thought, text and calls."""
    yield from read_calls(reader, style.calls.mark, style.calls.read)


def thought_of(text: str, *, is_open: bool = False) -> str:
    """A thought as most models write it."""
    return f"<think>\n{text}" if is_open else f"<think>\n{text}</think>\n\n"


def prints_tools(description: Description) -> bool:
    """Whether the model's template writes tools into the prompt by itself."""
    return description.caps.get("supports_tools", "tools" in description.template)
