"""gpt-oss: answers in channels. `analysis` is reasoning, `final` is text, and a call is addressed to `functions.…`."""

import re

from rightseat.core.model import PartialOutput
from rightseat.models.completion.grammar.nodes import Concat, LiteralText, Until
from rightseat.models.completion.parsing.reader import Reader
from rightseat.models.completion.parsing.source import Reading
from rightseat.models.completion.styles.forms import CallSection, NamedCall
from rightseat.models.completion.styles.style import Style

FORM = NamedCall(mark="<|channel|>commentary to=functions.", then=" <|constrain|>json<|message|>", close="<|call|>")
RECIPIENT = re.compile(r"to=functions\.([^\s<]+)")
NEXT = "<|end|><|start|>assistant"


def answer(reader: Reader, style: Style) -> Reading[None]:
    source = reader.source
    while True:
        yield from source.spaces()
        yield from source.literal("<|start|>assistant")
        header = yield from source.word("<|message|>")
        if header is None:
            yield from reader.read_text("<|channel|>", "<|return|>")
            return
        if recipient := RECIPIENT.search(header):
            yield from FORM.read_arguments(reader, recipient.group(1))
        elif "analysis" in header:
            yield from source.until("<|end|>", reader.add_reasoning)
        else:
            yield from reader.read_text("<|end|>", "<|return|>")
        if source.ended and source.at >= len(source.text):
            return


def write_partial(partial: PartialOutput, is_constrained: bool) -> str:
    reasoning = f"<|channel|>analysis<|message|>{partial.reasoning}" if partial.reasoning else ""
    if partial.is_reasoning:
        return reasoning
    return f"{reasoning + NEXT if reasoning else ''}{STYLE.before_text}{partial.text}"


STYLE = Style(
    name="harmony",
    families="gpt-oss",
    template_markers=("<|channel|>",),
    calls=CallSection(form=FORM, several=False),
    answer=answer,
    write_partial=write_partial,
    preserved=("<|channel|>", "<|message|>", "<|constrain|>", "<|start|>", "<|end|>", "<|call|>", "<|return|>"),
    before_text="<|channel|>final<|message|>",
    after_text=NEXT,
    lead=Concat((LiteralText("<|channel|>analysis<|message|>"), Until("<|end|>"), LiteralText(NEXT))),
)
