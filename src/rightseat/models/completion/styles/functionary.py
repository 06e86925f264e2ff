"""Functionary's styles: v2 and v3.2 address each part of a response to `all` or to a tool; v3.1 uses `<function=…>`.

The template of v2 prints no tools: they are added to a system message as TypeScript.
"""

from collections.abc import Sequence

from rightseat.core.tools import Tool
from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.parsing.reader import Reader
from rightseat.models.completion.parsing.source import Reading
from rightseat.models.completion.styles.forms import CallSection, NamedCall
from rightseat.models.completion.styles.style import Signatures, Style, TemplateTurn
from rightseat.models.completion.styles.tool_prompts import format_namespace

V2_FORM = NamedCall(mark="<|recipient|>", then="\n<|content|>")
V2_SEPARATOR = "\n<|from|>assistant\n"


def offer_v2(turns: Sequence[TemplateTurn], tools: Sequence[Tool], signatures: Signatures) -> list[TemplateTurn]:
    return [{"role": "system", "content": format_namespace(tools)}, *turns]


def read_v2_answer(reader: Reader, style: Style) -> Reading[None]:
    source = reader.source
    yield from source.spaces()
    while (yield from source.literal("<|recipient|>")):
        name = yield from source.word(V2_FORM.then)
        if name is None and reader.cut:
            return
        if name is None or name.strip() == "all":
            yield from reader.read_text("<|from|>assistant", "<|stop|>")
        else:
            yield from V2_FORM.read_arguments(reader, name)
            yield from source.spaces()
            yield from source.one_of("<|from|>assistant", "<|stop|>")
        yield from source.spaces()
    yield from reader.read_text()


V2 = Style(
    name="functionary-v2",
    families="Functionary v2",
    template_markers=("<|from|>", "<|recipient|>", "<|content|>"),
    calls=CallSection(form=V2_FORM, between=V2_SEPARATOR),
    answer=read_v2_answer,
    preserved=("<|from|>", "<|recipient|>", "<|content|>"),
    prompt_tail="<|recipient|>",
    before_text="<|recipient|>all\n<|content|>",
    after_text=V2_SEPARATOR,
    offer=offer_v2,
)


V31 = Style(
    name="functionary-v3.1",
    families="Functionary v3.1",
    template_markers=("<function=",),
    absent_markers=("<parameter=",),
    calls=CallSection(form=NamedCall(mark="<function=", then=">", close="</function>")),
    triggers=(Trigger("word", "<function="),),
    preserved=("<|python_tag|>", "<|eom_id|>"),
    stop=("<|eom_id|>",),
)


V32_FORM = NamedCall(mark=">>>", then="\n")


def read_v32_answer(reader: Reader, style: Style) -> Reading[None]:
    source = reader.source
    yield from source.spaces()
    found: str | None = ">>>" if (yield from source.literal(">>>")) else (yield from reader.read_text(">>>"))
    while found is not None:
        name = yield from source.word("\n")
        if name is None and reader.cut:
            return
        if name is None or name.strip() == "all":
            found = yield from reader.read_text(">>>")
        else:
            yield from V32_FORM.read_arguments(reader, name)
            found = yield from reader.read_text(">>>")


V32 = Style(
    name="functionary-v3.2",
    families="Functionary v3.2",
    template_markers=(">>>all",),
    calls=CallSection(form=V32_FORM),
    answer=read_v32_answer,
    prompt_tail=">>>",
    before_text=">>>all\n",
    after_text="",
)
