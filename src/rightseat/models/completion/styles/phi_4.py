"""Phi 4 mini: a JSON array behind `functools`. The tools end the system turn, in tokens of their own."""

from collections.abc import Sequence

from rightseat.core.tools import Tool
from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.styles.forms import Calls, Enveloped
from rightseat.models.completion.styles.offering import json_tools
from rightseat.models.completion.styles.style import Signatures, Style, Turn


def offer(turns: Sequence[Turn], tools: Sequence[Tool], signatures: Signatures) -> list[Turn]:
    head, rest = "You are a helpful assistant with some tools.", turns
    if turns and turns[0]["role"] == "system":
        head, rest = turns[0]["content"], turns[1:]
    listed = ", ".join(json_tools(tools))
    return [{"role": "system", "content": f"{head}<|tool|>[{listed}]<|/tool|>"}, *rest]


STYLE = Style(
    name="phi-4",
    families="Phi 4 mini",
    signs=("<|tool|>", "<|/tool|>"),
    calls=Calls(begin="functools", opens="[", form=Enveloped(mark=""), between=", ", end="]"),
    triggers=(Trigger("word", "functools["),),
    preserved=("<|tool_call|>", "<|/tool_call|>"),
    offer=offer,
)
