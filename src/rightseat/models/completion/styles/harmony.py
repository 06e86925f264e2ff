"""gpt-oss: answers in channels. `analysis` is a thought, `final` a text, and a call is addressed to `functions.…`."""

import re

from rightseat.core.model import Begun
from rightseat.models.completion.grammar.nodes import Literal, Until
from rightseat.models.completion.grammar.nodes import Sequence as Order
from rightseat.models.completion.reading.reader import Reader
from rightseat.models.completion.reading.source import Reading
from rightseat.models.completion.styles.forms import Calls, Named
from rightseat.models.completion.styles.style import Style

FORM = Named(mark="<|channel|>commentary to=functions.", then=" <|constrain|>json<|message|>", close="<|call|>")
RECIPIENT = re.compile(r"to=functions\.([^\s<]+)")
NEXT = "<|end|><|start|>assistant"


def answer(reader: Reader, style: Style) -> Reading[None]:
    source = reader.source
    while True:
        yield from source.spaces()
        yield from source.literal("<|start|>assistant")
        header = yield from source.word("<|message|>")
        if header is None:
            yield from reader.text("<|channel|>", "<|return|>")
            return
        if recipient := RECIPIENT.search(header):
            yield from FORM.read_arguments(reader, recipient.group(1))
        elif "analysis" in header:
            yield from source.until("<|end|>", reader.think)
        else:
            yield from reader.text("<|end|>", "<|return|>")
        if source.ended and source.at >= len(source.text):
            return


def begun(said: Begun, held: bool) -> str:
    thought = f"<|channel|>analysis<|message|>{said.thought}" if said.thought else ""
    if said.is_thinking:
        return thought
    return f"{thought + NEXT if thought else ''}{STYLE.before_text}{said.text}"


STYLE = Style(
    name="harmony",
    families="gpt-oss",
    signs=("<|channel|>",),
    calls=Calls(form=FORM, several=False),
    answer=answer,
    begun=begun,
    preserved=("<|channel|>", "<|message|>", "<|constrain|>", "<|start|>", "<|end|>", "<|call|>", "<|return|>"),
    before_text="<|channel|>final<|message|>",
    after_text=NEXT,
    lead=Order((Literal("<|channel|>analysis<|message|>"), Until("<|end|>"), Literal(NEXT))),
)
