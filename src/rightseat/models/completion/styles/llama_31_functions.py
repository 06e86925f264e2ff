"""Llama 3.1 to 3.3 with `<function=name>{…}</function>`, explained in the system turn.

For templates that print no tools, and where `style` is set to it. Meta's template asks for bare JSON: see `llama_31`.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from rightseat.core.tools import Tool
from rightseat.core.types import JSON_ERRORS
from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.grammar.nodes import Node
from rightseat.models.completion.grammar.schema import GrammarBuilder
from rightseat.models.completion.styles import llama_31
from rightseat.models.completion.styles.forms import CallSection, dump_json
from rightseat.models.completion.styles.llama_31 import ARGUMENT, FUNCTION, TAG, is_builtin
from rightseat.models.completion.styles.style import Signatures, TemplateTurn
from rightseat.models.completion.styles.tool_prompts import append_system_text, format_signatures, to_function

ROLE = """\
You are a helpful assistant with tool calling capabilities. When you receive a tool call response, use the output to \
format an answer to the original user question."""
EXPLAINED = """\
You have access to the following functions:

{tools}

If you choose to call a function ONLY reply in the following format with no prefix or suffix:

<function=example_function_name>{{"example_name": "example_value"}}</function>

Reminder:
- Function calls MUST follow the specified format, start with <function= and end with </function>
- Required parameters MUST be specified
- Only call one function at a time
- Put the entire function call reply on one line
- If there is no function call available, answer the question like normal with your current knowledge and do not tell \
the user about function calls"""


def offer(turns: Sequence[TemplateTurn], tools: Sequence[Tool], form: Signatures) -> list[TemplateTurn]:
    """The built-in tools come first, as in Llama's training."""
    custom = [tool for tool in tools if not is_builtin(tool)]
    written = append_system_text(ROLE, turns)
    if custom:
        written = append_system_text(EXPLAINED.format(tools=write_tools(custom, form)), written)
    if named := name_builtin_tools([tool.name for tool in tools if is_builtin(tool)]):
        written[0] = {**written[0], "content": f"{named}\n\n{written[0]['content']}"}
    return written


def write_tools(tools: Sequence[Tool], form: Signatures) -> str:
    if form == "typescript":
        return "\n".join(format_signatures(tools, form))
    return json.dumps([to_function(tool) for tool in tools], ensure_ascii=False, indent=2)


def name_builtin_tools(names: Sequence[str]) -> str:
    others = ", ".join(name for name in names if name != "ipython")
    return "\n".join(["Environment: ipython"] * ("ipython" in names) + [f"Tools: {others}"] * bool(others))


def write(tool: Tool, builder: GrammarBuilder) -> Node:
    return llama_31.write(tool, builder) if is_builtin(tool) else FUNCTION.node(tool, builder)


def write_history(turns: Sequence[TemplateTurn]) -> list[TemplateTurn]:
    """Write earlier calls in the form of the prompt, and results in Llama's role for them."""
    written: list[TemplateTurn] = []
    for turn in turns:
        if turn["role"] == "tool":
            written.append({"role": "ipython", "content": turn["content"]})
        elif calls := turn.get("tool_calls"):
            content = (turn["content"] or "") + "".join(write_call(call["function"]) for call in calls)
            written.append({"role": "assistant", "content": content})
        else:
            written.append(turn)
    return written


def write_call(called: TemplateTurn) -> str:
    if (key := ARGUMENT.get(called["name"])) and (value := read_only_argument(called["arguments"], key)) is not None:
        return TAG + (value if key == "code" else f"{called['name']}.call({key}={dump_json(value)})")
    return f"{FUNCTION.mark}{called['name']}{FUNCTION.then}{called['arguments']}{FUNCTION.close}"


def read_only_argument(arguments: str, key: str) -> str | None:
    """Return the argument of a built-in tool; None if the client's own tool has that name."""
    try:
        read = msgspec.json.decode(arguments, type=dict[str, str])
    except JSON_ERRORS:
        return None
    return read.get(key) if len(read) == 1 else None


STYLE = replace(
    llama_31.STYLE,
    name="llama-3.1-functions",
    families="Llama 3.1, 3.2 and 3.3 whose template prints no tools",
    absent_markers=("tools",),
    calls=CallSection(form=FUNCTION, several=False),
    write=write,
    triggers=(Trigger("word", TAG), Trigger("word", FUNCTION.mark)),
    text=None,
    offer=offer,
    history=write_history,
    extras=None,
)
