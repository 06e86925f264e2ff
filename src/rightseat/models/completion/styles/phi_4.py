"""Phi 4 mini: a JSON array behind `functools`. The tools end the system turn, in tokens of their own."""

from collections.abc import Sequence

from rightseat.core.tools import Tool
from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.styles.forms import CallSection, EnvelopedCall
from rightseat.models.completion.styles.style import Signatures, Style, TemplateTurn
from rightseat.models.completion.styles.tool_prompts import format_json_tools


def offer(turns: Sequence[TemplateTurn], tools: Sequence[Tool], signatures: Signatures) -> list[TemplateTurn]:
    head, rest = "You are a helpful assistant with some tools.", turns
    if turns and turns[0]["role"] == "system":
        head, rest = turns[0]["content"], turns[1:]
    listed = ", ".join(format_json_tools(tools))
    return [{"role": "system", "content": f"{head}<|tool|>[{listed}]<|/tool|>"}, *rest]


STYLE = Style(
    name="phi-4",
    families="Phi 4 mini",
    template_markers=("<|tool|>", "<|/tool|>"),
    calls=CallSection(begin="functools", opens="[", form=EnvelopedCall(mark=""), between=", ", end="]"),
    triggers=(Trigger("word", "functools["),),
    preserved=("<|tool_call|>", "<|/tool_call|>"),
    offer=offer,
)
