"""Granite 3: a JSON array behind `<|tool_call|>`."""

from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.styles.forms import CallSection, EnvelopedCall
from rightseat.models.completion.styles.style import Style

STYLE = Style(
    name="granite",
    families="Granite 3.0 to 3.3",
    template_markers=("<|tool_call|>",),
    absent_markers=("<|/tool|>",),
    calls=CallSection(begin="<|tool_call|>", opens="[", form=EnvelopedCall(mark=""), between=", ", end="]"),
    triggers=(Trigger("word", "<|tool_call|>"),),
    preserved=("<|tool_call|>",),
)
