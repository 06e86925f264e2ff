"""Mistral and Ministral 3: `[TOOL_CALLS]`, the name, `[ARGS]`, JSON; once more for each call."""

from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.styles.forms import Calls, Named
from rightseat.models.completion.styles.style import Style

STYLE = Style(
    name="mistral-3",
    families="Mistral 3, Ministral 3, Magistral, Devstral",
    signs=("[TOOL_CALLS]", "[ARGS]"),
    calls=Calls(form=Named(mark="[TOOL_CALLS]", then="[ARGS]")),
    triggers=(Trigger("word", "[TOOL_CALLS]"),),
    preserved=("[TOOL_CALLS]", "[ARGS]"),
    id_length=9,
)
