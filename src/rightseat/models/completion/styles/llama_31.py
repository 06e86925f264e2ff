"""Llama 3.1 to 3.3: bare JSON for custom functions, `<|python_tag|>` before the tools that they know by themselves.

`<function=name>{…}</function>`, in which Llama 3.1 was trained to call custom functions too, is a call as well.
"""

from collections.abc import Sequence
from typing import Any

from rightseat.core.tools import Tool
from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.grammar.nodes import Chars, Choice, Literal, Node, Until
from rightseat.models.completion.grammar.nodes import Sequence as Order
from rightseat.models.completion.grammar.schema import Builder
from rightseat.models.completion.reading.reader import Broken, Reader
from rightseat.models.completion.reading.source import Reading
from rightseat.models.completion.styles.forms import Calls, Enveloped, Named, json, optional, read_envelope, where
from rightseat.models.completion.styles.style import Style

TAG = "<|python_tag|>"
LONGEST_NAME = 128  # characters, as in `offered`
ARGUMENT = {"ipython": "code", "brave_search": "query", "wolfram_alpha": "query"}
CUSTOM = Enveloped(mark="", arguments="parameters")
FUNCTION = Named(mark="<function=", then=">", close="</function>")


def is_builtin(tool: Tool) -> bool:
    properties = tool.parameters.get("properties")
    return tool.name in ARGUMENT and isinstance(properties, dict) and list(properties) == [ARGUMENT[tool.name]]


def extras(tools: Sequence[Tool]) -> tuple[Sequence[Tool], dict[str, Any]]:
    builtin = [tool.name for tool in tools if is_builtin(tool)]
    return [tool for tool in tools if not is_builtin(tool)], {"builtin_tools": builtin} if builtin else {}


def write(tool: Tool, builder: Builder) -> Node:
    """A builtin tool is called behind the tag; a custom one too where a text precedes."""
    if not is_builtin(tool):
        return Choice((Order((optional(Literal(TAG)), CUSTOM.node(tool, builder))), FUNCTION.node(tool, builder)))
    if tool.name == "ipython":
        return Order((Literal(TAG), Until("<|eom_id|>")))
    query = builder.value({"type": "string"}, where(tool))
    return Order((Literal(f"{TAG}{tool.name}.call({ARGUMENT[tool.name]}="), query, Literal(")")))


def answer(reader: Reader, style: Style) -> Reading[None]:
    yield from _read_custom(reader)
    marks = (TAG, FUNCTION.mark) if reader.schemas else ()
    while (found := (yield from reader.text(*marks))) is not None:
        yield from _read_tagged(reader) if found == TAG else _read_function(reader)


def _read_custom(reader: Reader) -> Reading[None]:
    """A call with which the answer begins. It is one as soon as it names a tool that was offered; else it is text."""
    source = reader.source
    source.held, anchor = True, source.at
    yield from source.spaces()
    found = source.at
    named = reader.schemas and (yield from _names_a_tool(reader))
    source.at, source.held = (found if named else anchor), False
    if reader.cut and not named and source.text.startswith("{", found):
        source.at = len(source.text)  # of a call that has no name yet nothing can be told
    if named and not (yield from read_envelope(reader, ("name",), ("parameters", "arguments"))):
        raise Broken("a call that is no JSON object with a name and parameters")


def _names_a_tool(reader: Reader) -> Reading[bool]:
    source = reader.source
    for part in ("{", '"name"', ":"):
        if not (yield from source.literal(part)):
            return False
        yield from source.spaces()
    return (yield from source.string()) in reader.schemas


def _read_tagged(reader: Reader) -> Reading[None]:
    """What stands behind the tag: a custom call, a builtin one, or code."""
    source, before = reader.source, reader.called
    yield from source.spaces()
    yield from _read_custom(reader)
    if reader.called > before:
        return
    for name in ("brave_search", "wolfram_alpha"):
        argument = ARGUMENT[name]
        if name in reader.schemas and (yield from source.literal(f"{name}.call({argument}=")):
            reader.begin(name)
            reader.argue(f'{{"{argument}": ')
            whole = yield from source.value(reader.argue, only='"')
            if not whole or not (yield from source.literal(")")):
                raise Broken(f"the call of {name!r} has no end")
            reader.argue("}")
            reader.finish()
            return
    yield from _read_code(reader)


def _read_function(reader: Reader) -> Reading[None]:
    """A call whose mark was passed over. Without the name of a tool that was offered, the mark is text."""
    source, dropped = reader.source, reader.dropped
    source.held, anchor = True, source.at
    name = yield from source.word(FUNCTION.then, most=LONGEST_NAME)
    source.held = False
    if name is not None and name.strip() in reader.schemas:
        yield from FUNCTION.read_arguments(reader, name)
    elif name is None and reader.cut:
        source.at = len(source.text)  # of a call that has no name yet nothing can be told
    else:
        source.at = anchor
        reader.say(dropped + FUNCTION.mark)


def _read_code(reader: Reader) -> Reading[None]:
    reader.begin("ipython")
    reader.argue('{"code": "')
    yield from reader.source.until("<|eom_id|>", lambda text: reader.argue(json(text)[1:-1]))
    reader.argue('"}')
    reader.finish()


STYLE = Style(
    name="llama-3.1",
    families="Llama 3.1, 3.2 and 3.3",
    signs=("<|start_header_id|>", "<|python_tag|>"),
    calls=Calls(form=CUSTOM, several=False),
    write=write,
    answer=answer,
    triggers=(Trigger("word", TAG), Trigger("word", FUNCTION.mark), Trigger("pattern", r'^\s*(\{"name":)')),
    preserved=(TAG, "<|eom_id|>"),
    stop=("<|eom_id|>",),
    text=Order((Chars(((123, 123), (32, 32), (10, 10)), negated=True), Until(TAG))),
    extras=extras,
)
