"""DeepSeek V3.2 and V4: arguments in DSML tags that say which of them are strings."""

from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.styles.forms import Calls
from rightseat.models.completion.styles.style import Style
from rightseat.models.completion.styles.tagged import Tagged

STYLE = Style(
    name="deepseek-v3.2",
    families="DeepSeek V3.2, V4",
    signs=("｜DSML｜",),
    calls=Calls(
        begin="<｜DSML｜function_calls>",
        opens="\n",
        form=Tagged(
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
