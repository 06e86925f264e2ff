"""Decodes the tools of a request: the client's own, and those of Anthropic, which this server does not have."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rightseat.core.ask import NamedTool, ToolChoice, ToolOffer
from rightseat.faces.anthropic.error_form import InvalidMessagesRequest

NAME = re.compile(r"[a-zA-Z0-9_.:-]{1,128}")
CHOICES: Mapping[str, ToolChoice] = {"auto": "auto", "any": "required", "none": "none"}
HOSTED = ("web_search", "web_fetch", "code_execution", "tool_search", "mcp_toolset", "advisor")
"""Anthropic runs tools whose type begins with one of these."""
PLACEHOLDER = "DeferredToolPlaceholder"
"""Claude Code sends it with `defer_loading`, so that the list has a deferred tool. No model should see it.

The client then has tools that it does not list, such as those of its MCP servers; its tool `ToolSearch` finds them. A
model may call one by its name alone, which is in the text of a reminder."""

Warn = Callable[[str], None]


def read_tools(given: Sequence[Mapping[str, Any]], warn: Warn) -> tuple[ToolOffer, ...]:
    """Raises `InvalidMessagesRequest`."""
    tools: dict[str, ToolOffer] = {}
    for number, tool in enumerate(given):
        where = f"tools[{number}]"
        kind = tool.get("type")
        if kind not in (None, "custom"):
            warn(explain_typed_tool(where, kind))
        elif tool.get("name") != PLACEHOLDER:
            offer = read_tool(tool, where)
            if offer.name in tools:
                raise InvalidMessagesRequest(f"{where}.name: two tools are named {offer.name!r}.")
            tools[offer.name] = offer
    return tuple(tools.values())


def explain_typed_tool(where: str, kind: object) -> str:
    """Raises `InvalidMessagesRequest` if the type is no text."""
    if not isinstance(kind, str):
        raise InvalidMessagesRequest(f"{where}.type: it must be a text.")
    if kind.startswith(HOSTED):
        return f"The tool {kind[:100]!r} was left out: Anthropic runs it, and this server does not have it."
    return f"The tool {kind[:100]!r} was left out: it has no `input_schema`, by which a model could call it."


def read_tool(tool: Mapping[str, Any], where: str) -> ToolOffer:
    name, description, schema = tool.get("name"), tool.get("description"), tool.get("input_schema")
    strict = tool.get("strict")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidMessagesRequest(f"{where}.name: it must be 1 to 128 letters, digits or any of _.:-")
    if not isinstance(schema, dict):
        raise InvalidMessagesRequest(f"{where}.input_schema: the tool {name!r} has no JSON Schema for its input.")
    if description is not None and not isinstance(description, str):
        raise InvalidMessagesRequest(f"{where}.description: it must be a text.")
    return ToolOffer(name, description or "", schema, strict if isinstance(strict, bool) else None)


def read_tool_choice(given: Mapping[str, Any] | None, names: Sequence[str]) -> ToolChoice | None:
    """Raises `InvalidMessagesRequest`."""
    if given is None:
        return None
    kind = given.get("type")
    if kind == "tool":
        return read_named_tool(given.get("name"), names)
    if not isinstance(kind, str) or kind not in CHOICES:
        known = f"{', '.join(CHOICES)} or tool"
        raise InvalidMessagesRequest(f"tool_choice.type is {str(kind)[:100]!r}; it must be {known}.")
    if kind == "any" and not names:
        raise InvalidMessagesRequest("tool_choice is 'any', and there are no tools.")
    return CHOICES[kind]


def read_named_tool(name: object, names: Sequence[str]) -> NamedTool:
    if not isinstance(name, str) or name not in names:
        listed = ", ".join(names) or "none"
        raise InvalidMessagesRequest(
            f"tool_choice names {str(name)[:140]!r}, which is not in `tools`. There: {listed}."
        )
    return NamedTool(name)
