"""Kimi K2: numbered calls of `functions.…`, between control tokens of their own."""

from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.styles.forms import CallSection, NamedCall
from rightseat.models.completion.styles.style import Style

STYLE = Style(
    name="kimi-k2",
    families="Kimi K2",
    template_markers=("<|tool_calls_section_begin|>",),
    calls=CallSection(
        begin="<|tool_calls_section_begin|>",
        form=NamedCall(
            mark="<|tool_call_begin|>functions.",
            then="<|tool_call_argument_begin|>",
            close="<|tool_call_end|>",
            numbered=True,
        ),
        end="<|tool_calls_section_end|>",
    ),
    triggers=(Trigger("word", "<|tool_calls_section_begin|>"),),
    preserved=(
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
    ),
)
