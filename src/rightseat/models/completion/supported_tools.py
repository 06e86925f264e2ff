"""Selects the tools whose calls a grammar can enforce.

A tool that no grammar can enforce is dropped with a warning. The request is rejected if no other tool is left, or if it
is the required one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rightseat.core.ask import NamedTool, ToolChoice
from rightseat.core.errors import BadRequest, ContextTooLong, SchemaNotSupported
from rightseat.core.tools import Tool
from rightseat.models.completion.grammar.nodes import Node
from rightseat.models.completion.grammar.schema import GrammarBuilder
from rightseat.models.completion.styles import llama_31
from rightseat.models.completion.styles.style import Style
from rightseat.models.completion.styles.tool_prompts import format_json_tools

NAME = re.compile(r"[\w.:/-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SupportedTools:
    """`calls` is the grammar of each tool's call, by its name."""

    tools: Sequence[Tool]
    calls: dict[str, Node]
    warnings: Sequence[str]


def select_tools(tools: Sequence[Tool], choice: ToolChoice, style: Style, builder: GrammarBuilder) -> SupportedTools:
    check(tools, choice)
    tools, corrected = llama_31.correct_builtin_tools(tools)
    calls: dict[str, Node] = {}
    rejected: dict[str, SchemaNotSupported] = {}
    for tool in tools:
        try:
            check_name(tool.name)
            calls[tool.name] = style.call(tool, builder)
        except SchemaNotSupported as error:
            rejected[tool.name] = error
    if isinstance(choice, NamedTool) and choice.name in rejected:
        raise rejected[choice.name]
    if rejected and not calls:
        raise next(iter(rejected.values()))
    warnings = [*corrected, *(f"The tool {name!r} was dropped: {error}" for name, error in rejected.items())]
    return SupportedTools([tool for tool in tools if tool.name in calls], calls, warnings)


def check(tools: Sequence[Tool], choice: ToolChoice) -> None:
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        raise BadRequest(f"Two tools are named {duplicate!r}. Tool names must be unique.")
    if isinstance(choice, NamedTool) and choice.name not in names:
        raise BadRequest(
            f"The tool {choice.name!r} is required, but not among the tools: {', '.join(names) or 'none'}."
        )
    if choice == "required" and not tools:
        raise BadRequest("A tool call is required, but there are no tools.")


def check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise SchemaNotSupported(f"tool {name[:80]!r}: `name` must have 1 to 128 letters, digits and _.:/-")


def explain_too_long(error: ContextTooLong, tools: Sequence[Tool], prompt: str) -> ContextTooLong:
    """Add the longest tool to the error if the tools take most of the prompt."""
    sizes = dict(zip((tool.name for tool in tools), map(len, format_json_tools(tools)), strict=True))
    if 2 * sum(sizes.values()) < len(prompt):
        return error
    largest = max(sizes, key=sizes.__getitem__)
    return ContextTooLong(
        f"{error} The {len(tools)} tools take most of the prompt; the longest is {largest!r}.", error.upstream_status
    )
