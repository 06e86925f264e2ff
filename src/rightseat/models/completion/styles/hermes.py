"""Hermes 2 and 3, Qwen 2.5 and 3, Granite 4: JSON in `<tool_call>`.

`FORCED` is the same form for models without training in tools: a system message explains it, and a grammar enforces it.
Their templates are not involved: earlier calls and their results are written as text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rightseat.core.tools import Tool
from rightseat.core.types import JsonValue
from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.styles.forms import CallSection, EnvelopedCall, dump_json
from rightseat.models.completion.styles.style import Signatures, Style, TemplateTurn
from rightseat.models.completion.styles.tool_prompts import append_system_text, format_signatures

FORM = EnvelopedCall(mark="<tool_call>", gap="\n", close="</tool_call>")
CALLS = CallSection(form=FORM, between="\n")
JSON_ALONE = "You are a helpful assistant that answers in JSON."
JSON_OR_CALLS = "Where you call no function, answer in JSON."
SCHEMA = "{when} Here's the json schema you must adhere to:\n<schema>\n{schema}\n</schema>"


def ask_for_json(
    turns: Sequence[TemplateTurn], schema: Mapping[str, JsonValue], *, has_tools: bool
) -> list[TemplateTurn]:
    """Append the instruction that Hermes was trained with to the system message."""
    when = JSON_OR_CALLS if has_tools else JSON_ALONE
    return append_system_text(SCHEMA.format(when=when, schema=dump_json(schema)), turns)


NATIVE = Style(
    name="hermes",
    families="Hermes 2 and 3, Qwen 2.5, Qwen 3, Granite 4",
    template_markers=("<tool_call>",),
    calls=replace(CALLS, form=replace(FORM, either_order=True)),  # Hermes 3 was trained to write the arguments first
    triggers=(Trigger("word", "<tool_call>"),),
    preserved=("<tool_call>", "</tool_call>"),
    ask_for_json=ask_for_json,
)


TOOL_PROMPT = """\
You are a function calling AI model. You are provided with function signatures within <tools></tools> XML tags. \
You may call one or more functions to assist with the user query.
<tools>
{tools}
</tools>
For each function call return a JSON object with function name and arguments within <tool_call></tool_call> tags:
<tool_call>
{{"name": "function_name", "arguments": {{"argument_name": "value"}}}}
</tool_call>"""


def offer(turns: Sequence[TemplateTurn], tools: Sequence[Tool], signatures: Signatures) -> list[TemplateTurn]:
    explained = TOOL_PROMPT.format(tools="\n".join(format_signatures(tools, signatures)))
    return append_system_text(explained, turns)


def history(turns: Sequence[TemplateTurn]) -> list[TemplateTurn]:
    """Write calls and results as text."""
    written: list[TemplateTurn] = []
    for turn in turns:
        if turn["role"] == "tool":
            result = f"<tool_response>\n{turn['content']}\n</tool_response>"
            if written and written[-1].get("results"):
                written[-1]["content"] += f"\n{result}"
            else:
                written.append({"role": "user", "content": result, "results": True})
        elif calls := turn.get("tool_calls"):
            text = [turn["content"]] if turn["content"] else []
            written.append({"role": "assistant", "content": "\n".join([*text, *map(write_call, calls)])})
        else:
            written.append(turn)
    return [{"role": turn["role"], "content": turn["content"]} for turn in written]


def write_call(call: TemplateTurn) -> str:
    function = call["function"]
    return f'<tool_call>\n{{"name": {dump_json(function["name"])}, "arguments": {function["arguments"]}}}\n</tool_call>'


FORCED = Style(
    name="forced-hermes",
    families="models without a template, or whose template knows no tools",
    template_markers=(),
    calls=CALLS,
    preserved=("<tool_call>", "</tool_call>"),
    offer=offer,
    history=history,
    ask_for_json=ask_for_json,
)
