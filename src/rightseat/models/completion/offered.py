"""Which of the tools that a client offers a model can be held to.

One that no grammar can enforce is left out, with a warning that names it; the others are none the worse for it. Where
it is the only one, or the one that is demanded, it is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rightseat.core.ask import Named, ToolChoice
from rightseat.core.errors import BadAsk, PromptTooLong, Unenforceable
from rightseat.core.tools import Tool
from rightseat.models.completion.grammar.nodes import Node
from rightseat.models.completion.grammar.schema import Builder
from rightseat.models.completion.styles.offering import json_tools
from rightseat.models.completion.styles.style import Style

NAME = re.compile(r"[\w.:/-]{1,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Offered:
    """`calls` is the grammar of each tool's call, by its name."""

    offered: Sequence[Tool]
    calls: dict[str, Node]
    warnings: Sequence[str]


def offer(tools: Sequence[Tool], choice: ToolChoice, style: Style, builder: Builder) -> Offered:
    check(tools, choice)
    calls: dict[str, Node] = {}
    refused: dict[str, Unenforceable] = {}
    for tool in tools:
        try:
            check_name(tool.name)
            calls[tool.name] = style.call(tool, builder)
        except Unenforceable as error:
            refused[tool.name] = error
    if isinstance(choice, Named) and choice.name in refused:
        raise refused[choice.name]
    if refused and not calls:
        raise next(iter(refused.values()))
    warnings = [f"The tool {name!r} was left out: {error}" for name, error in refused.items()]
    return Offered([tool for tool in tools if tool.name in calls], calls, warnings)


def check(tools: Sequence[Tool], choice: ToolChoice) -> None:
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadAsk(f"Two tools are named {twice!r}. Each should have a name of its own.")
    if isinstance(choice, Named) and choice.name not in names:
        raise BadAsk(f"The tool {choice.name!r} is demanded, but not offered. Offered: {', '.join(names) or 'none'}.")
    if choice == "required" and not tools:
        raise BadAsk("A call is demanded, but no tools are offered.")


def check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise Unenforceable(
            f"tool {name[:80]!r}: `name` cannot be written in a call; it should have 1 to 128 letters, digits and _.:/-"
        )


def too_long(error: PromptTooLong, tools: Sequence[Tool], prompt: str) -> PromptTooLong:
    """The same, with what takes the room where that is tools."""
    sizes = dict(zip((tool.name for tool in tools), map(len, json_tools(tools)), strict=True))
    if 2 * sum(sizes.values()) < len(prompt):
        return error
    largest = max(sizes, key=sizes.__getitem__)
    return PromptTooLong(
        f"{error} The {len(tools)} tools take most of it; the longest is {largest!r}.", error.upstream_status
    )
