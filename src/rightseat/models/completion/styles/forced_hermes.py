"""For models that were never trained to call tools: Hermes' form, explained in a system turn and held to by a grammar.

Nothing of it is left to the template: earlier calls and their results are written as text too.
"""

from collections.abc import Sequence

from rightseat.core.tools import Tool
from rightseat.models.completion.styles.hermes import CALLS, ask_for_json
from rightseat.models.completion.styles.offering import introduce
from rightseat.models.completion.styles.offering import signatures as sign
from rightseat.models.completion.styles.spelling import spell
from rightseat.models.completion.styles.style import Signatures, Style, Turn

EXPLAINED = """\
You are a function calling AI model. You are provided with function signatures within <tools></tools> XML tags. \
You may call one or more functions to assist with the user query.
<tools>
{tools}
</tools>
For each function call return a JSON object with function name and arguments within <tool_call></tool_call> tags:
<tool_call>
{{"name": "function_name", "arguments": {{"argument_name": "value"}}}}
</tool_call>"""


def offer(turns: Sequence[Turn], tools: Sequence[Tool], signatures: Signatures) -> list[Turn]:
    explained = EXPLAINED.format(tools="\n".join(sign(tools, signatures)))
    return introduce(explained, turns)


def history(turns: Sequence[Turn]) -> list[Turn]:
    """Calls and results as text."""
    written: list[Turn] = []
    for turn in turns:
        if turn["role"] == "tool":
            result = f"<tool_response>\n{turn['content']}\n</tool_response>"
            if written and written[-1].get("results"):
                written[-1]["content"] += f"\n{result}"
            else:
                written.append({"role": "user", "content": result, "results": True})
        elif calls := turn.get("tool_calls"):
            said = [turn["content"]] if turn["content"] else []
            written.append({"role": "assistant", "content": "\n".join([*said, *map(write_call, calls)])})
        else:
            written.append(turn)
    return [{"role": turn["role"], "content": turn["content"]} for turn in written]


def write_call(call: Turn) -> str:
    function = call["function"]
    return f'<tool_call>\n{{"name": {spell(function["name"])}, "arguments": {function["arguments"]}}}\n</tool_call>'


STYLE = Style(
    name="forced-hermes",
    families="models without a template, or whose template knows no tools",
    signs=(),
    calls=CALLS,
    preserved=("<tool_call>", "</tool_call>"),
    offer=offer,
    history=history,
    ask_for_json=ask_for_json,
)
