"""Mistral Nemo, Large and Small up to version 7: a JSON array behind `[TOOL_CALLS]`, ids of nine characters."""

from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.grammar.nodes import Chars, Literal, Repeat
from rightseat.models.completion.styles.forms import Calls, Enveloped
from rightseat.models.completion.styles.style import Style

ALPHANUMERIC = Chars(((48, 57), (65, 90), (97, 122)))

STYLE = Style(
    name="mistral-nemo",
    families="Mistral Nemo, Large, Small (up to version 7)",
    signs=("[TOOL_CALLS]",),
    without=("[ARGS]",),
    calls=Calls(
        begin="[TOOL_CALLS]",
        opens="[",
        form=Enveloped(mark="", extra=(Literal(', "id": "'), Repeat(ALPHANUMERIC, 9, 9), Literal('"'))),
        between=", ",
        end="]",
    ),
    triggers=(Trigger("word", "[TOOL_CALLS]"),),
    preserved=("[TOOL_CALLS]",),
    id_length=9,
)
