"""DeepSeek V3.1: the name and JSON, between control tokens of their own."""

from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.styles.deepseek_r1 import TOKENS
from rightseat.models.completion.styles.forms import Calls, Named
from rightseat.models.completion.styles.style import Style

STYLE = Style(
    name="deepseek-v3.1",
    families="DeepSeek V3.1",
    signs=("<｜tool▁calls▁begin｜>",),
    without=("```json",),
    calls=Calls(
        begin="<｜tool▁calls▁begin｜>",
        form=Named(mark="<｜tool▁call▁begin｜>", then="<｜tool▁sep｜>", close="<｜tool▁call▁end｜>"),
        end="<｜tool▁calls▁end｜>",
    ),
    triggers=(Trigger("word", "<｜tool▁calls▁begin｜>"),),
    preserved=TOKENS,
)
