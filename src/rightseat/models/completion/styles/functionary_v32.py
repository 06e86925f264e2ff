"""Functionary v3.2: every part of an answer is addressed, `>>>all` to the reader and `>>>name` to a tool."""

from rightseat.models.completion.reading.reader import Reader
from rightseat.models.completion.reading.source import Reading
from rightseat.models.completion.styles.forms import Calls, Named
from rightseat.models.completion.styles.style import Style

FORM = Named(mark=">>>", then="\n")


def answer(reader: Reader, style: Style) -> Reading[None]:
    source = reader.source
    yield from source.spaces()
    found: str | None = ">>>" if (yield from source.literal(">>>")) else (yield from reader.text(">>>"))
    while found is not None:
        name = yield from source.word("\n")
        if name is None and reader.cut:
            return
        if name is None or name.strip() == "all":
            found = yield from reader.text(">>>")
        else:
            yield from FORM.read_arguments(reader, name)
            found = yield from reader.text(">>>")


STYLE = Style(
    name="functionary-v3.2",
    families="Functionary v3.2",
    signs=(">>>all",),
    calls=Calls(form=FORM),
    answer=answer,
    said=">>>",
    before_text=">>>all\n",
    after_text="",
)
