"""Hermes 2 and 3, Qwen 2.5 and 3, Granite 4: JSON in `<tool_call>`."""

from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.styles.forms import Calls, Enveloped
from rightseat.models.completion.styles.style import Style

CALLS = Calls(form=Enveloped(mark="<tool_call>", gap="\n", close="</tool_call>"), between="\n")

STYLE = Style(
    name="hermes",
    families="Hermes 2 and 3, Qwen 2.5, Qwen 3, Granite 4",
    signs=("<tool_call>",),
    calls=CALLS,
    triggers=(Trigger("word", "<tool_call>"),),
    preserved=("<tool_call>", "</tool_call>"),
)
