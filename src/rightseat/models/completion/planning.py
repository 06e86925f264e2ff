"""What a client asks, and what the engine says of its model → what the engine is asked, and how its answer is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rightseat.core.ask import Named
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool
from rightseat.core.values import JsonValue
from rightseat.models.completion import budget, offered, turns
from rightseat.models.completion.engine import Constraint, Description
from rightseat.models.completion.grammar.bounds import Bounds
from rightseat.models.completion.grammar.nodes import Choice, Literal, Node, Repeat, Until
from rightseat.models.completion.grammar.nodes import Sequence as Order
from rightseat.models.completion.grammar.schema import Builder
from rightseat.models.completion.reading.reader import Reader
from rightseat.models.completion.styles.forms import optional
from rightseat.models.completion.styles.offering import function, introduce
from rightseat.models.completion.styles.offering import signatures as sign
from rightseat.models.completion.styles.style import Signatures, Style, Turn, Wanted, prints_tools

THINK = "<think>"
THOUGHT = (Until("</think>"), Literal("</think>"), Repeat(Literal("\n"), 0, 2))
SPOKEN: JsonValue = {"type": "string", "maxLength": Bounds().longest_text}
"""What is said to the user, where a style writes that as JSON: it is no argument, so it may be long."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything but the end of the prompt, whose last words may belong to the answer already.

    `tools` are offered, `callable` are those of them that this answer may call, `text` is the schema of a text.
    """

    style: Style
    builder: Builder
    tools: Sequence[Tool] = ()
    callable: Sequence[Tool] = ()
    several: bool = True
    lazy: bool = False
    text: Mapping[str, JsonValue] | None = None
    root: Node | None = None
    warnings: Sequence[str] = ()

    def constraint(self, prompt: str, *, thinks: bool) -> Constraint | None:
        """What holds the model from the end of this prompt on. `thinks`: it may have a thought before it answers."""
        root = self.root
        if root is None:
            return None
        if not self.lazy:
            root = after(root, self.style.said) if _ends_with(prompt, self.style.said) else root
            if _thinking(prompt):
                root = Order((*THOUGHT, root))
            elif thinks:
                root = Order((optional(Order((Literal(THINK), *THOUGHT))), root))
        return Constraint(
            grammar=self.builder.grammar(root),
            triggers=self.style.triggers if self.lazy else (),
            preserved=self.style.preserved,
        )

    def said(self, prompt: str) -> str:
        """What the prompt ends with, and belongs to the answer already."""
        return THINK if _thinking(prompt) else self.style.said if _ends_with(prompt, self.style.said) else ""

    def reader(self, prompt: str) -> Reader:
        style = self.style
        schemas = {tool.name: tool.parameters for tool in self.callable}
        most = None if self.several else 1
        return Reader(
            lambda reader: style.answer(reader, style),
            schemas,
            self.said(prompt),
            most=most,
            text=self.text,
            bounds=self.builder.bounds,
        )


def plan(prompt: Prompt, style: Style, *, triggers: bool) -> Plan:
    """Raises `Unenforceable` where no grammar can do what is asked. `triggers`: the engine knows lazy grammars."""
    asked = prompt.parameters
    builder = Builder(budget.bounds(style.name, prompt.tools, asked.max_tokens))
    text = None if asked.response_schema is None else builder.value(asked.response_schema, "response_format")
    choice = asked.tool_choice or "auto"
    tools = offered.offer(() if choice == "none" else prompt.tools, choice, style, builder)
    if not tools.calls:
        root = None if text is None else style.node(builder, Wanted((), False, text))
        warnings = (*tools.warnings, *builder.narrowed)
        return Plan(style, builder, text=asked.response_schema, root=root, warnings=warnings)
    demanded = choice == "required" or isinstance(choice, Named)
    room = asked.parallel_calls or budget.has_room_for_several(style.name, asked.max_tokens)
    several = asked.parallel_calls is not False and room and not isinstance(choice, Named)
    lazy = not demanded and text is None and bool(style.triggers) and triggers
    if demanded or lazy:
        text = None
    elif text is None:
        text = style.free_text() if style.grammar is None else builder.value(SPOKEN, "result")
    may = [tool for tool in tools.offered if not isinstance(choice, Named) or tool.name == choice.name]
    return Plan(
        style,
        builder,
        tools=tools.offered,
        callable=may,
        several=several,
        lazy=lazy,
        text=asked.response_schema,
        root=style.node(builder, Wanted([tools.calls[tool.name] for tool in may], several, text)),
        warnings=(*tools.warnings, *builder.narrowed),
    )


@dataclass(frozen=True, slots=True)
class Written:
    """What a chat template is given: turns, the tools that it prints by itself, and names of its own."""

    turns: Sequence[Turn]
    tools: Sequence[dict[str, Any]] | None
    more: Mapping[str, Any]


def write(plan: Plan, prompt: Prompt, description: Description, signatures: Signatures | None) -> Written:
    style, tools = plan.style, plan.tools
    written = turns.write(prompt.messages, style, description)
    offer = style.offer
    if offer is None and not prints_tools(description):
        offer = offer_anyhow
    printed, more = (tools, {}) if style.extras is None else style.extras(tools)
    if tools and offer is not None:
        written, printed, more = offer(written, tools, signatures or style.signatures), (), {}
    if plan.text is not None and style.ask_for_json is not None:
        written = style.ask_for_json(written, plan.text, has_tools=bool(tools))
    return Written(turns.ordered(written, description), [function(tool) for tool in printed] or None, more)


def offer_anyhow(written: Sequence[Turn], tools: Sequence[Tool], signatures: Signatures) -> list[Turn]:
    """For a style that was set by hand, and a template that prints no tools: none are dropped in silence."""
    return introduce("You may call these functions:\n" + "\n".join(sign(tools, signatures)), written)


def after(node: Node, said: str) -> Node:
    """What is left of a grammar once this was said."""
    match node:
        case Literal(text=text) if text.startswith(said):
            return Literal(text.removeprefix(said))
        case Order(parts=(first, *rest)):
            return Order((after(first, said), *rest))
        case Choice(options=options):
            return Choice(tuple(after(option, said) for option in options))
    raise AssertionError(f"an answer does not begin with {said!r}")


def _ends_with(prompt: str, said: str) -> bool:
    return bool(said) and prompt.endswith(said)


def _thinking(prompt: str) -> bool:
    """Some templates begin the thought for the model."""
    return prompt.rstrip().endswith(THINK)
