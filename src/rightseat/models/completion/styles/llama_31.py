"""Llama 3.1 to 3.3: bare JSON for custom functions, `<|python_tag|>` before built-in tools.

`<function=name>{…}</function>`, in which Llama 3.1 was also trained to call custom functions, is accepted as well.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.grammar.nodes import Chars, Choice, Concat, LiteralText, Node, Until
from rightseat.models.completion.grammar.schema import GrammarBuilder
from rightseat.models.completion.parsing.reader import InvalidOutput, Reader
from rightseat.models.completion.parsing.source import Reading
from rightseat.models.completion.styles.forms import (
    CallSection,
    EnvelopedCall,
    NamedCall,
    describe_schema_place,
    make_optional,
    read_envelope,
    to_json,
)
from rightseat.models.completion.styles.style import Style

TAG = "<|python_tag|>"
LONGEST_NAME = 128  # characters, as in `offered`
ARGUMENT = {"ipython": "code", "brave_search": "query", "wolfram_alpha": "query"}
PRINTED = {"type": "object", "properties": {"code": {"type": "query"}}, "required": ["query"]}
"""The parameters of two built-in tools in llama.cpp's documentation, which are no JSON Schema."""

QUERY: dict[str, JsonValue] = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
CUSTOM = EnvelopedCall(mark="", arguments="parameters")
FUNCTION = NamedCall(mark="<function=", then=">", close="</function>")


def is_builtin(tool: Tool) -> bool:
    properties = tool.parameters.get("properties")
    return tool.name in ARGUMENT and isinstance(properties, dict) and list(properties) == [ARGUMENT[tool.name]]


def correct_builtin_tools(tools: Sequence[Tool]) -> tuple[Sequence[Tool], Sequence[str]]:
    """Give built-in tools that are declared as `PRINTED` the parameter that Llama calls them with, and warn."""
    printed = [tool.name for tool in tools if ARGUMENT.get(tool.name) == "query" and tool.parameters == PRINTED]
    corrected = [replace(tool, parameters=QUERY) if tool.name in printed else tool for tool in tools]
    return corrected, [
        f"The parameters of the tool {name!r} are not a JSON Schema; it is offered with `query`, a string."
        for name in printed
    ]


def extras(tools: Sequence[Tool]) -> tuple[Sequence[Tool], dict[str, Any]]:
    builtin = [tool.name for tool in tools if is_builtin(tool)]
    return [tool for tool in tools if not is_builtin(tool)], {"builtin_tools": builtin} if builtin else {}


def write(tool: Tool, builder: GrammarBuilder) -> Node:
    """A built-in tool is called after the tag; so is a custom one after a text."""
    if not is_builtin(tool):
        return Choice(
            (Concat((make_optional(LiteralText(TAG)), CUSTOM.node(tool, builder))), FUNCTION.node(tool, builder))
        )
    if tool.name == "ipython":
        return Concat((LiteralText(TAG), Until("<|eom_id|>")))
    query = builder.value({"type": "string"}, describe_schema_place(tool))
    return Concat((LiteralText(f"{TAG}{tool.name}.call({ARGUMENT[tool.name]}="), query, LiteralText(")")))


def answer(reader: Reader, style: Style) -> Reading[None]:
    yield from _read_custom(reader)
    marks = (TAG, FUNCTION.mark) if reader.schemas else ()
    while (found := (yield from reader.read_text(*marks))) is not None:
        yield from _read_tagged(reader) if found == TAG else _read_function(reader)


def _read_custom(reader: Reader) -> Reading[None]:
    """Parse a call at the beginning of the response. It is text unless it names an offered tool."""
    source = reader.source
    source.held, anchor = True, source.at
    yield from source.spaces()
    found = source.at
    named = reader.schemas and (yield from _names_a_tool(reader))
    source.at, source.held = (found if named else anchor), False
    if reader.cut and not named and source.text.startswith("{", found):
        source.at = len(source.text)  # a call without a name cannot be reported
    if named and not (yield from read_envelope(reader, ("name",), ("parameters", "arguments"))):
        raise InvalidOutput("a call that is not a JSON object with a name and parameters")


def _names_a_tool(reader: Reader) -> Reading[bool]:
    source = reader.source
    for part in ("{", '"name"', ":"):
        if not (yield from source.literal(part)):
            return False
        yield from source.spaces()
    return (yield from source.string()) in reader.schemas


def _read_tagged(reader: Reader) -> Reading[None]:
    """Parse what follows the tag: a custom call, a built-in one, or code."""
    source, before = reader.source, reader.called
    yield from source.spaces()
    yield from _read_custom(reader)
    if reader.called > before:
        return
    for name in ("brave_search", "wolfram_alpha"):
        argument = ARGUMENT[name]
        if name in reader.schemas and (yield from source.literal(f"{name}.call({argument}=")):
            reader.start_call(name)
            reader.add_arguments(f'{{"{argument}": ')
            is_complete = yield from source.value(reader.add_arguments, only='"')
            if not is_complete or not (yield from source.literal(")")):
                raise InvalidOutput(f"the call of {name!r} has no end")
            reader.add_arguments("}")
            reader.end_call()
            return
    yield from _read_code(reader)


def _read_function(reader: Reader) -> Reading[None]:
    """Parse a call after its mark. Without the name of an offered tool, the mark is text."""
    source, dropped = reader.source, reader.dropped
    source.held, anchor = True, source.at
    name = yield from source.word(FUNCTION.then, most=LONGEST_NAME)
    source.held = False
    if name is not None and name.strip() in reader.schemas:
        yield from FUNCTION.read_arguments(reader, name)
    elif name is None and reader.cut:
        source.at = len(source.text)  # a call without a name cannot be reported
    else:
        source.at = anchor
        reader.add_text(dropped + FUNCTION.mark)


def _read_code(reader: Reader) -> Reading[None]:
    reader.start_call("ipython")
    reader.add_arguments('{"code": "')
    yield from reader.source.until("<|eom_id|>", lambda text: reader.add_arguments(to_json(text)[1:-1]))
    reader.add_arguments('"}')
    reader.end_call()


STYLE = Style(
    name="llama-3.1",
    families="Llama 3.1, 3.2 and 3.3",
    template_markers=("<|start_header_id|>", "<|python_tag|>"),
    calls=CallSection(form=CUSTOM, several=False),
    write=write,
    answer=answer,
    triggers=(Trigger("word", TAG), Trigger("word", FUNCTION.mark), Trigger("pattern", r'^\s*(\{"name":)')),
    preserved=(TAG, "<|eom_id|>"),
    stop=("<|eom_id|>",),
    text=Concat((Chars(((123, 123), (32, 32), (10, 10)), negated=True), Until(TAG))),
    extras=extras,
)
