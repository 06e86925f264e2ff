"""Functionary v3.1: JSON in `<function=…>`."""

from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.styles.forms import Calls, Named
from rightseat.models.completion.styles.style import Style

STYLE = Style(
    name="functionary-v3.1",
    families="Functionary v3.1",
    signs=("<function=",),
    without=("<parameter=",),
    calls=Calls(form=Named(mark="<function=", then=">", close="</function>")),
    triggers=(Trigger("word", "<function="),),
    preserved=("<|python_tag|>", "<|eom_id|>"),
    stop=("<|eom_id|>",),
)
