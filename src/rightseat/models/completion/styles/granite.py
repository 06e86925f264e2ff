"""Granite 3: a JSON array behind `<|tool_call|>`."""

from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.styles.forms import Calls, Enveloped
from rightseat.models.completion.styles.style import Style

STYLE = Style(
    name="granite",
    families="Granite 3.0 to 3.3",
    signs=("<|tool_call|>",),
    without=("<|/tool|>",),
    calls=Calls(begin="<|tool_call|>", opens="[", form=Enveloped(mark=""), between=", ", end="]"),
    triggers=(Trigger("word", "<|tool_call|>"),),
    preserved=("<|tool_call|>",),
)
