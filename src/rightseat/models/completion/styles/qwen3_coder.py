"""Qwen 3 Coder and 3.5, Nemotron 3, Step 3.5: arguments in `<parameter=…>`."""

from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.styles.forms import CallSection
from rightseat.models.completion.styles.style import Style
from rightseat.models.completion.styles.tagged import TaggedCall

STYLE = Style(
    name="qwen3-coder",
    families="Qwen 3 Coder, Qwen 3.5, Nemotron 3, Step 3.5",
    template_markers=("<function=", "<parameter="),
    calls=CallSection(
        form=TaggedCall(
            mark="<tool_call>",
            before="<function=",
            then=">",
            key="<parameter=",
            value=">",
            end="</parameter>",
            close="</function>\n</tool_call>",
        ),
        between="\n",
    ),
    triggers=(Trigger("word", "<tool_call>"),),
    preserved=("<tool_call>", "</tool_call>"),
)
