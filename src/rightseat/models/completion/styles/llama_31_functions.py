"""Llama 3.1 to 3.3 with `<function=name>{…}</function>`, explained in the system turn.

For templates that print no tools, and where `style` is set to it. Meta's template asks for bare JSON: see `llama_31`.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from rightseat.core.tools import Tool
from rightseat.core.values import JSON_ERRORS
from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.grammar.nodes import Node
from rightseat.models.completion.grammar.schema import Builder
from rightseat.models.completion.styles import llama_31
from rightseat.models.completion.styles.forms import Calls
from rightseat.models.completion.styles.llama_31 import ARGUMENT, FUNCTION, TAG, is_builtin
from rightseat.models.completion.styles.offering import function, introduce, signatures
from rightseat.models.completion.styles.spelling import spell
from rightseat.models.completion.styles.style import Signatures, Turn

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


def offer(turns: Sequence[Turn], tools: Sequence[Tool], form: Signatures) -> list[Turn]:
    """The builtin tools are named before all else, where Llama was trained to find them."""
    custom = [tool for tool in tools if not is_builtin(tool)]
    written = introduce(ROLE, turns)
    if custom:
        written = introduce(EXPLAINED.format(tools=write_tools(custom, form)), written)
    if named := name_builtin_tools([tool.name for tool in tools if is_builtin(tool)]):
        written[0] = {**written[0], "content": f"{named}\n\n{written[0]['content']}"}
    return written


def write_tools(tools: Sequence[Tool], form: Signatures) -> str:
    if form == "typescript":
        return "\n".join(signatures(tools, form))
    return json.dumps([function(tool) for tool in tools], ensure_ascii=False, indent=2)


def name_builtin_tools(names: Sequence[str]) -> str:
    others = ", ".join(name for name in names if name != "ipython")
    return "\n".join(["Environment: ipython"] * ("ipython" in names) + [f"Tools: {others}"] * bool(others))


def write(tool: Tool, builder: Builder) -> Node:
    return llama_31.write(tool, builder) if is_builtin(tool) else FUNCTION.node(tool, builder)


def write_history(turns: Sequence[Turn]) -> list[Turn]:
    """Earlier calls in the form that the prompt asks for; results in the role that Llama knows them by."""
    written: list[Turn] = []
    for turn in turns:
        if turn["role"] == "tool":
            written.append({"role": "ipython", "content": turn["content"]})
        elif calls := turn.get("tool_calls"):
            said = (turn["content"] or "") + "".join(write_call(call["function"]) for call in calls)
            written.append({"role": "assistant", "content": said})
        else:
            written.append(turn)
    return written


def write_call(called: Turn) -> str:
    if (key := ARGUMENT.get(called["name"])) and (value := read_only_argument(called["arguments"], key)) is not None:
        return TAG + (value if key == "code" else f"{called['name']}.call({key}={spell(value)})")
    return f"{FUNCTION.mark}{called['name']}{FUNCTION.then}{called['arguments']}{FUNCTION.close}"


def read_only_argument(arguments: str, key: str) -> str | None:
    """The argument of a builtin tool. None where the tool of that name is one of the client's own."""
    try:
        read = msgspec.json.decode(arguments, type=dict[str, str])
    except JSON_ERRORS:
        return None
    return read.get(key) if len(read) == 1 else None


STYLE = replace(
    llama_31.STYLE,
    name="llama-3.1-functions",
    families="Llama 3.1, 3.2 and 3.3 whose template prints no tools",
    without=("tools",),
    calls=Calls(form=FUNCTION, several=False),
    write=write,
    triggers=(Trigger("word", TAG), Trigger("word", FUNCTION.mark)),
    text=None,
    offer=offer,
    history=write_history,
    extras=None,
)
