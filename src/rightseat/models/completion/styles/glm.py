"""GLM 4.5 to 4.7, Ling 3: arguments in `<arg_key>` and `<arg_value>`."""

from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.styles.forms import CallSection
from rightseat.models.completion.styles.style import Style
from rightseat.models.completion.styles.tagged import TaggedCall

STYLE = Style(
    name="glm",
    families="GLM 4.5, 4.6 and 4.7, Ling 3",
    template_markers=("<arg_key>", "<arg_value>"),
    calls=CallSection(
        form=TaggedCall(
            mark="<tool_call>",
            then="\n",
            key="<arg_key>",
            value="</arg_key>\n<arg_value>",
            end="</arg_value>",
            close="</tool_call>",
            inner="",
        ),
        between="\n",
    ),
    triggers=(Trigger("word", "<tool_call>"),),
    preserved=("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
)
