"""Mistral: `[TOOL_CALLS]`, name, `[ARGS]` and JSON (version 3), or a JSON array (Nemo, Large and Small up to 7)."""

from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.grammar.nodes import Chars, LiteralText, Repeat
from rightseat.models.completion.styles.forms import CallSection, EnvelopedCall, NamedCall
from rightseat.models.completion.styles.style import Style

V3 = Style(
    name="mistral-3",
    families="Mistral 3, Ministral 3, Magistral, Devstral",
    template_markers=("[TOOL_CALLS]", "[ARGS]"),
    calls=CallSection(form=NamedCall(mark="[TOOL_CALLS]", then="[ARGS]")),
    triggers=(Trigger("word", "[TOOL_CALLS]"),),
    preserved=("[TOOL_CALLS]", "[ARGS]"),
    id_length=9,
)


ALPHANUMERIC = Chars(((48, 57), (65, 90), (97, 122)))

NEMO = Style(
    name="mistral-nemo",
    families="Mistral Nemo, Large, Small (up to version 7)",
    template_markers=("[TOOL_CALLS]",),
    absent_markers=("[ARGS]",),
    calls=CallSection(
        begin="[TOOL_CALLS]",
        opens="[",
        form=EnvelopedCall(mark="", extra=(LiteralText(', "id": "'), Repeat(ALPHANUMERIC, 9, 9), LiteralText('"'))),
        between=", ",
        end="]",
    ),
    triggers=(Trigger("word", "[TOOL_CALLS]"),),
    preserved=("[TOOL_CALLS]",),
    id_length=9,
)
