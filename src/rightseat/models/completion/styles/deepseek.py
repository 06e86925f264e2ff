"""DeepSeek's styles: R1 and V3 (JSON in a fence), V3.1 (name and JSON), V3.2 and V4 (arguments in DSML tags).

Each uses control tokens of its own. The DSML tags declare which arguments are strings.
"""

from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.styles.forms import CallSection, NamedCall
from rightseat.models.completion.styles.style import Style
from rightseat.models.completion.styles.tagged import TaggedCall

TOKENS = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>",
)

R1 = Style(
    name="deepseek-r1",
    families="DeepSeek R1, V3",
    template_markers=("<｜tool▁calls▁begin｜>", "```json"),
    calls=CallSection(
        begin="<｜tool▁calls▁begin｜>",
        form=NamedCall(
            mark="<｜tool▁call▁begin｜>function<｜tool▁sep｜>", then="\n```json\n", close="\n```<｜tool▁call▁end｜>"
        ),
        between="\n",
        end="<｜tool▁calls▁end｜>",
    ),
    triggers=(Trigger("word", "<｜tool▁calls▁begin｜>"),),
    preserved=TOKENS,
)


V31 = Style(
    name="deepseek-v3.1",
    families="DeepSeek V3.1",
    template_markers=("<｜tool▁calls▁begin｜>",),
    absent_markers=("```json",),
    calls=CallSection(
        begin="<｜tool▁calls▁begin｜>",
        form=NamedCall(mark="<｜tool▁call▁begin｜>", then="<｜tool▁sep｜>", close="<｜tool▁call▁end｜>"),
        end="<｜tool▁calls▁end｜>",
    ),
    triggers=(Trigger("word", "<｜tool▁calls▁begin｜>"),),
    preserved=TOKENS,
)


V32 = Style(
    name="deepseek-v3.2",
    families="DeepSeek V3.2, V4",
    template_markers=("｜DSML｜",),
    calls=CallSection(
        begin="<｜DSML｜function_calls>",
        opens="\n",
        form=TaggedCall(
            mark='<｜DSML｜invoke name="',
            then='">',
            key='<｜DSML｜parameter name="',
            value='" string="',
            kinds=('true">', 'false">'),
            end="</｜DSML｜parameter>",
            close="</｜DSML｜invoke>",
            inner="",
        ),
        between="\n",
        end="\n</｜DSML｜function_calls>",
    ),
    triggers=(Trigger("word", "<｜DSML｜function_calls>"),),
    preserved=("｜DSML｜",),
)
