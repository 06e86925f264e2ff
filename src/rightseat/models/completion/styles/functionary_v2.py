"""Functionary v2: every part of an answer has a recipient: `all`, or the name of a tool.

Its template prints no tools: they stand in a system turn as TypeScript.
"""

from collections.abc import Sequence

from rightseat.core.tools import Tool
from rightseat.models.completion.reading.reader import Reader
from rightseat.models.completion.reading.source import Reading
from rightseat.models.completion.styles.forms import Calls, Named
from rightseat.models.completion.styles.offering import namespace
from rightseat.models.completion.styles.style import Signatures, Style, Turn

FORM = Named(mark="<|recipient|>", then="\n<|content|>")
NEXT = "\n<|from|>assistant\n"


def offer(turns: Sequence[Turn], tools: Sequence[Tool], signatures: Signatures) -> list[Turn]:
    return [{"role": "system", "content": namespace(tools)}, *turns]


def answer(reader: Reader, style: Style) -> Reading[None]:
    source = reader.source
    yield from source.spaces()
    while (yield from source.literal("<|recipient|>")):
        name = yield from source.word(FORM.then)
        if name is None and reader.cut:
            return
        if name is None or name.strip() == "all":
            yield from reader.text("<|from|>assistant", "<|stop|>")
        else:
            yield from FORM.read_arguments(reader, name)
            yield from source.spaces()
            yield from source.one_of("<|from|>assistant", "<|stop|>")
        yield from source.spaces()
    yield from reader.text()


STYLE = Style(
    name="functionary-v2",
    families="Functionary v2",
    signs=("<|from|>", "<|recipient|>", "<|content|>"),
    calls=Calls(form=FORM, between=NEXT),
    answer=answer,
    preserved=("<|from|>", "<|recipient|>", "<|content|>"),
    said="<|recipient|>",
    before_text="<|recipient|>all\n<|content|>",
    after_text=NEXT,
    offer=offer,
)
