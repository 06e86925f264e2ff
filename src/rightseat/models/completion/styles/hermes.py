"""Hermes 2 and 3, Qwen 2.5 and 3, Granite 4: JSON in `<tool_call>`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rightseat.core.values import JsonValue
from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.styles.forms import Calls, Enveloped
from rightseat.models.completion.styles.offering import introduce
from rightseat.models.completion.styles.spelling import spell
from rightseat.models.completion.styles.style import Style, Turn

FORM = Enveloped(mark="<tool_call>", gap="\n", close="</tool_call>")
CALLS = Calls(form=FORM, between="\n")
JSON_ALONE = "You are a helpful assistant that answers in JSON."
JSON_OR_CALLS = "Where you call no function, answer in JSON."
SCHEMA = "{when} Here's the json schema you must adhere to:\n<schema>\n{schema}\n</schema>"


def ask_for_json(turns: Sequence[Turn], schema: Mapping[str, JsonValue], *, has_tools: bool) -> list[Turn]:
    """The words that Hermes was trained with, at the end of the system turn."""
    when = JSON_OR_CALLS if has_tools else JSON_ALONE
    return introduce(SCHEMA.format(when=when, schema=spell(schema)), turns)


STYLE = Style(
    name="hermes",
    families="Hermes 2 and 3, Qwen 2.5, Qwen 3, Granite 4",
    signs=("<tool_call>",),
    calls=replace(CALLS, form=replace(FORM, either_order=True)),  # Hermes 3 was taught to name the arguments first
    triggers=(Trigger("word", "<tool_call>"),),
    preserved=("<tool_call>", "</tool_call>"),
    ask_for_json=ask_for_json,
)
