"""Defines `Style`: how a family of models is offered tools, and how it calls them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from rightseat.core.model import PartialOutput
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion.backend import Description, Trigger
from rightseat.models.completion.grammar.nodes import Choice, Concat, LiteralText, Node, Until
from rightseat.models.completion.grammar.schema import GrammarBuilder
from rightseat.models.completion.parsing.answers import read_calls
from rightseat.models.completion.parsing.reader import Reader
from rightseat.models.completion.parsing.source import Reading
from rightseat.models.completion.styles.forms import CallSection, make_optional

Signatures = Literal["json_schema", "typescript"]
TemplateTurn = dict[str, Any]
"""One message in the form of chat templates: `role`, `content`, `tool_calls`, …"""

OfferTools = Callable[[Sequence[TemplateTurn], Sequence[Tool], Signatures], list[TemplateTurn]]


class AskForJson(Protocol):
    def __call__(
        self, turns: Sequence[TemplateTurn], schema: Mapping[str, JsonValue], *, has_tools: bool
    ) -> list[TemplateTurn]: ...


@dataclass(frozen=True, slots=True)
class AllowedOutput:
    """The allowed output: calls (one or several), and text if `text` is not None."""

    calls: Sequence[Node]
    several: bool
    text: Node | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a family of models calls tools: everything that differs between families, set in the family's module."""

    name: str
    families: str
    """The models with this style, for people."""
    template_markers: tuple[str, ...]
    """Texts that the family's chat template contains, all of them."""
    absent_markers: tuple[str, ...] = ()
    """Texts that it does not contain."""
    calls: CallSection
    write: Callable[[Tool, GrammarBuilder], Node] | None = None
    """Builds the grammar of one call, if tools are called in more than one form."""
    answer: "Callable[[Reader, Style], Reading[None]]" = lambda reader, style: read_default_answer(reader, style)
    """Parses a whole response."""
    triggers: tuple[Trigger, ...] = ()
    """Texts with which a model starts a call. Without any, the grammar constrains every response."""
    preserved: tuple[str, ...] = ()
    """Control tokens that are part of the response and must not be stripped."""
    stop: tuple[str, ...] = ()
    prompt_tail: str = ""
    """The beginning of a response with which the prompt may already end."""
    before_text: str = ""
    """The beginning of a text."""
    after_text: str = ""
    """The separator between a text and a call."""
    text: Node | None = None
    """The grammar of a text; by default, any text that does not start a call."""
    lead: Node | None = None
    """The optional beginning of a response: reasoning."""
    grammar: Callable[[GrammarBuilder, AllowedOutput], Node] | None = None
    """Replaces the default grammar."""
    offer: OfferTools | None = None
    """Adds the tools to the messages, if the template does not."""
    ask_for_json: AskForJson | None = None
    """Adds the schema of a JSON response to the messages. None: only the grammar enforces it."""
    history: Callable[[Sequence[TemplateTurn]], list[TemplateTurn]] | None = None
    """Writes earlier calls and their results as text, for templates without support for them."""
    signatures: Signatures = "json_schema"
    id_length: int | None = None
    """The exact length of call ids."""
    extras: Callable[[Sequence[Tool]], tuple[Sequence[Tool], dict[str, Any]]] | None = None
    """Returns the tools to print, and template variables for the others."""

    write_partial: Callable[[PartialOutput, bool], str] | None = None
    """Replaces the default text of a partial response, as the model wrote it; the second argument is whether a grammar
    constrained it."""

    def recognises(self, template: str) -> bool:
        return all(marker in template for marker in self.template_markers) and not any(
            marker in template for marker in self.absent_markers
        )

    def call(self, tool: Tool, builder: GrammarBuilder) -> Node:
        """Build the grammar of one call. Raises `SchemaNotSupported` if none can enforce the tool's schema."""
        return self.write(tool, builder) if self.write else self.calls.form.node(tool, builder)

    def node(self, builder: GrammarBuilder, wanted: AllowedOutput) -> Node:
        """Build the grammar of a whole response."""
        if self.grammar is not None:
            return self.grammar(builder, wanted)
        options: list[Node] = []
        if wanted.calls:
            options.append(self.calls.node(wanted.calls, several=wanted.several))
        if wanted.text is not None:
            calls = (make_optional(Concat((LiteralText(self.after_text), options[0]))),) if options else ()
            options.append(Concat((LiteralText(self.before_text), wanted.text, *calls)))
        root = options[0] if len(options) == 1 else Choice(tuple(options))
        return root if self.lead is None else Concat((make_optional(self.lead), root))

    def free_text(self) -> Node:
        """Return any text up to the start of a call."""
        return self.text or Until(self.after_text or self.calls.mark)


def read_default_answer(reader: Reader, style: Style) -> Reading[None]:
    """Parse reasoning, text and calls."""
    yield from read_calls(reader, style.calls.mark, style.calls.read)


def format_reasoning(text: str, *, is_open: bool = False) -> str:
    """Write reasoning as most models do."""
    return f"<think>\n{text}" if is_open else f"<think>\n{text}</think>\n\n"


def prints_tools(description: Description) -> bool:
    """Whether the model's template adds tools to the prompt."""
    return description.caps.get("supports_tools", "tools" in description.template)
