"""Reads the `tools` and the `tool_choice` of a Responses request.

Only functions can be offered to the model. Tools of other types run on OpenAI's own servers, and clients such as Codex
send them with every request, so they are left out with a warning. A namespace is a list of functions; they are offered
under their own names, and their calls name the namespace.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from rightseat.core.ask import NamedTool, ToolChoice, ToolOffer
from rightseat.core.types import JSON_ERRORS
from rightseat.faces.openai.decoder import NAME, NOTHING, explain_decode_error
from rightseat.faces.openai.errors import InvalidRequest

T = TypeVar("T")

HOSTED_CHOICE = "`tool_choice` asks for a tool of the type {kind!r}, which this server does not have; 'auto' is used."


class ToolHead(msgspec.Struct):
    type: str
    name: str | None = None


class FunctionTool(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class NamespaceTool(msgspec.Struct):
    name: str
    tools: list[msgspec.Raw] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RequestedTools:
    """`namespaces` has the namespace of each function that has one. `echo` is the choice as the client sent it."""

    offers: tuple[ToolOffer, ...] = ()
    choice: ToolChoice | None = None
    echo: str | dict[str, Any] = "auto"
    namespaces: Mapping[str, str] = field(default_factory=dict)


def read_response_tools(
    given: Sequence[msgspec.Raw], choice: str | dict[str, Any] | None, warnings: list[str]
) -> RequestedTools:
    """Raises `InvalidRequest`."""
    offers: dict[str, ToolOffer] = {}
    namespaces: dict[str, str] = {}
    for where, raw, namespace in list_functions(given, warnings):
        offer = read_function(raw, where)
        if offer.name in offers and namespace is None:
            raise InvalidRequest(f"Two tools are named {offer.name!r}. Tool names must be unique.", where)
        if offer.name in offers:
            warnings.append(f"The tool {offer.name!r} of {namespace!r} was left out: another tool has its name.")
            continue
        offers[offer.name] = offer
        if namespace is not None:
            namespaces[offer.name] = namespace
    allowed, chosen = read_response_choice(choice, list(offers), warnings)
    kept = tuple(offer for name, offer in offers.items() if name in allowed)
    return RequestedTools(kept, chosen, "auto" if choice is None else choice, namespaces)


def list_functions(given: Sequence[msgspec.Raw], warnings: list[str]) -> Iterator[tuple[str, msgspec.Raw, str | None]]:
    """The path and the text of each function, and its namespace; plain functions come first, so they win a name."""
    nested: list[tuple[str, msgspec.Raw, str | None]] = []
    for number, raw in enumerate(given):
        where = f"tools[{number}]"
        head = decode_at(where, raw, ToolHead)
        if head.type == "function":
            yield where, raw, None
        elif head.type == "namespace":
            space = decode_at(where, raw, NamespaceTool)
            nested += ((f"{where}.tools[{index}]", one, space.name) for index, one in enumerate(space.tools))
        else:
            named = f" ({head.name[:100]!r})" if head.name else ""
            warnings.append(f"{where} was left out: this server has no tools of the type {head.type[:100]!r}{named}.")
    for where, raw, namespace in nested:
        head = decode_at(where, raw, ToolHead)
        if head.type == "function":
            yield where, raw, namespace
        else:
            warnings.append(f"{where} was left out: this server has no tools of the type {head.type[:100]!r}.")


def read_function(raw: msgspec.Raw, where: str) -> ToolOffer:
    function = decode_at(where, raw, FunctionTool)
    if not NAME.fullmatch(function.name):
        text = f"{where}.name is {function.name[:140]!r}; it must be 1 to 128 letters, digits or any of _.:-"
        raise InvalidRequest(text, f"{where}.name")
    parameters = NOTHING if function.parameters is None else function.parameters
    return ToolOffer(function.name, function.description or "", parameters, function.strict)


def read_response_choice(
    choice: str | dict[str, Any] | None, names: Sequence[str], warnings: list[str]
) -> tuple[Sequence[str], ToolChoice | None]:
    """The names of the tools that may be called, and how the model chooses."""
    match choice:
        case None | "auto" | "none":
            return names, choice
        case "required" | {"type": "allowed_tools", "mode": "required"} if not names:
            raise InvalidRequest("`tool_choice` is 'required', and there are no `tools`.", "tool_choice")
        case "required":
            return names, "required"
        case {"type": "function", "name": str(name)}:
            check_named(name, names)
            return names, NamedTool(name)
        case {"type": "allowed_tools", "mode": "auto" | "required" as mode, "tools": list(tools)}:
            wanted = [str(one.get("name")) for one in tools if isinstance(one, dict) and one.get("type") == "function"]
            for name in wanted:
                check_named(name, names)
            return wanted, "required" if mode == "required" and wanted else "auto"
        case {"type": str(kind)} if kind not in ("function", "allowed_tools"):
            warnings.append(HOSTED_CHOICE.format(kind=kind[:100]))
            return names, "auto"
    known = "'auto', 'required', 'none', {'type': 'function', 'name': …} or {'type': 'allowed_tools', …}"
    raise InvalidRequest(f"`tool_choice` is {str(choice)[:100]!r}; it must be {known}.", "tool_choice")


def check_named(name: str, names: Sequence[str]) -> None:
    if name not in names:
        listed = ", ".join(names) or "none"
        text = f"`tool_choice` names {name[:140]!r}, which is not in `tools`. There: {listed}."
        raise InvalidRequest(text, "tool_choice")


def decode_at(where: str, raw: msgspec.Raw | bytes, kind: type[T]) -> T:
    """Decode a part of the body. An error names its path, which begins with `where`. Raises `InvalidRequest`."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except JSON_ERRORS as error:
        inner = explain_decode_error(error)
        path = f"{where}.{inner.param}" if inner.param and not inner.param.startswith("[") else where
        message = inner.message.removeprefix("The body is not valid: ").removeprefix("The body: ")
        raise InvalidRequest(message if inner.param else f"{where}: {message}", path) from error
