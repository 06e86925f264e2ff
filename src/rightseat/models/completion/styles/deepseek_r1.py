"""DeepSeek R1 and V3: JSON in a fence, between control tokens of their own."""

from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.styles.forms import Calls, Named
from rightseat.models.completion.styles.style import Style

TOKENS = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
)

STYLE = Style(
    name="deepseek-r1",
    families="DeepSeek R1, V3",
    signs=("<｜tool▁calls▁begin｜>", "```json"),
    calls=Calls(
        begin="<｜tool▁calls▁begin｜>",
        form=Named(
            mark="<｜tool▁call▁begin｜>function<｜tool▁sep｜>", then="\n```json\n", close="\n```<｜tool▁call▁end｜>"
        ),
        between="\n",
        end="<｜tool▁calls▁end｜>",
    ),
    triggers=(Trigger("word", "<｜tool▁calls▁begin｜>"),),
    preserved=TOKENS,
)
