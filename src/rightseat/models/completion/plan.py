"""Decide, for one request, the prompt and grammar that the backend gets and how its text is parsed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rightseat.core.ask import NamedTool
from rightseat.core.model import Prompt
from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion import budget, supported_tools, template_messages
from rightseat.models.completion.backend import Constraint, Description
from rightseat.models.completion.grammar.bounds import GrammarBounds
from rightseat.models.completion.grammar.nodes import Choice, Concat, LiteralText, Node, Repeat, Until
from rightseat.models.completion.grammar.schema import GrammarBuilder
from rightseat.models.completion.parsing.reader import Reader
from rightseat.models.completion.styles.forms import make_optional
from rightseat.models.completion.styles.style import AllowedOutput, Signatures, Style, TemplateTurn, prints_tools
from rightseat.models.completion.styles.tool_prompts import append_system_text, format_signatures, to_function

THINK = "<think>"
REASONING_END = (Until("</think>"), LiteralText("</think>"), Repeat(LiteralText("\n"), 0, 2))
REPLY_SCHEMA: JsonValue = {"type": "string", "maxLength": GrammarBounds().longest_text}
"""Schema of text for the user in styles that write it as JSON: it is no argument, so it may be long."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that does not depend on the rendered prompt, which may end with the start of the response.

    `tools` are shown to the model, `callable` are those that this response may call, `text` is the schema of a text.
    """

    style: Style
    builder: GrammarBuilder
    tools: Sequence[Tool] = ()
    callable: Sequence[Tool] = ()
    several: bool = True
    lazy: bool = False
    text: Mapping[str, JsonValue] | None = None
    root: Node | None = None
    warnings: Sequence[str] = ()

    def constraint(self, prompt: str, *, thinks: bool) -> Constraint | None:
        """Return the constraint for a response to this prompt. `thinks`: the model may reason first."""
        root = self.root
        if root is None:
            return None
        if not self.lazy:
            root = strip_prefix(root, self.style.prompt_tail) if _ends_with(prompt, self.style.prompt_tail) else root
            if _opens_reasoning(prompt):
                root = Concat((*REASONING_END, root))
            elif thinks:
                root = Concat((make_optional(Concat((LiteralText(THINK), *REASONING_END))), root))
        return Constraint(
            grammar=self.builder.grammar(root),
            triggers=self.style.triggers if self.lazy else (),
            preserved=self.style.preserved,
        )

    def response_start(self, prompt: str) -> str:
        """Return the start of the response that the prompt already ends with."""
        return (
            THINK
            if _opens_reasoning(prompt)
            else self.style.prompt_tail
            if _ends_with(prompt, self.style.prompt_tail)
            else ""
        )

    def reader(self, prompt: str) -> Reader:
        style = self.style
        schemas = {tool.name: tool.parameters for tool in self.callable}
        max_calls = None if self.several else 1
        return Reader(
            lambda reader: style.answer(reader, style),
            schemas,
            self.response_start(prompt),
            max_calls=max_calls,
            text=self.text,
            bounds=self.builder.bounds,
        )


def make_plan(prompt: Prompt, style: Style, *, triggers: bool) -> Plan:
    """Raises `SchemaNotSupported` if no grammar can enforce the request. `triggers`: the backend has lazy grammars."""
    parameters = prompt.parameters
    builder = GrammarBuilder(budget.set_bounds(style.name, prompt.tools, parameters.max_tokens))
    text = None if parameters.response_schema is None else builder.value(parameters.response_schema, "response_format")
    choice = parameters.tool_choice or "auto"
    tools = supported_tools.select_tools(() if choice == "none" else prompt.tools, choice, style, builder)
    if not tools.calls:
        root = None if text is None else style.node(builder, AllowedOutput((), False, text))
        warnings = (*tools.warnings, *builder.narrowed)
        return Plan(style, builder, text=parameters.response_schema, root=root, warnings=warnings)
    is_required = choice == "required" or isinstance(choice, NamedTool)
    has_room = parameters.parallel_calls or budget.has_room_for_several(style.name, parameters.max_tokens)
    several = parameters.parallel_calls is not False and has_room and not isinstance(choice, NamedTool)
    lazy = not is_required and text is None and bool(style.triggers) and triggers
    if is_required or lazy:
        text = None
    elif text is None:
        text = style.free_text() if style.grammar is None else builder.value(REPLY_SCHEMA, "result")
    callable_tools = [tool for tool in tools.tools if not isinstance(choice, NamedTool) or tool.name == choice.name]
    return Plan(
        style,
        builder,
        tools=tools.tools,
        callable=callable_tools,
        several=several,
        lazy=lazy,
        text=parameters.response_schema,
        root=style.node(builder, AllowedOutput([tools.calls[tool.name] for tool in callable_tools], several, text)),
        warnings=(*tools.warnings, *builder.narrowed),
    )


@dataclass(frozen=True, slots=True)
class TemplateInput:
    """Input of a chat template: turns, the tools that the template prints itself, and its own variables."""

    turns: Sequence[TemplateTurn]
    tools: Sequence[dict[str, Any]] | None
    variables: Mapping[str, Any]


def write_template_input(
    plan: Plan, prompt: Prompt, description: Description, signatures: Signatures | None
) -> TemplateInput:
    style, tools = plan.style, plan.tools
    turns = template_messages.write_turns(prompt.messages, style, description)
    offer = style.offer
    if offer is None and not prints_tools(description):
        offer = prepend_tools
    printed, variables = (tools, {}) if style.extras is None else style.extras(tools)
    if tools and offer is not None:
        turns, printed, variables = offer(turns, tools, signatures or style.signatures), (), {}
    if plan.text is not None and style.ask_for_json is not None:
        turns = style.ask_for_json(turns, plan.text, has_tools=bool(tools))
    return TemplateInput(
        template_messages.order_roles(turns, description), [to_function(tool) for tool in printed] or None, variables
    )


def prepend_tools(turns: Sequence[TemplateTurn], tools: Sequence[Tool], signatures: Signatures) -> list[TemplateTurn]:
    """Describe tools for a configured style whose template prints none, so that they are not silently lost."""
    return append_system_text(
        "You may call these functions:\n" + "\n".join(format_signatures(tools, signatures)), turns
    )


def strip_prefix(node: Node, prefix: str) -> Node:
    """Return the rest of a grammar behind a literal prefix."""
    match node:
        case LiteralText(text=text) if text.startswith(prefix):
            return LiteralText(text.removeprefix(prefix))
        case Concat(parts=(first, *rest)):
            return Concat((strip_prefix(first, prefix), *rest))
        case Choice(options=options):
            return Choice(tuple(strip_prefix(option, prefix) for option in options))
    raise AssertionError(f"a response does not begin with {prefix!r}")


def _ends_with(prompt: str, suffix: str) -> bool:
    return bool(suffix) and prompt.endswith(suffix)


def _opens_reasoning(prompt: str) -> bool:
    """Some templates open the reasoning for the model."""
    return prompt.rstrip().endswith(THINK)
