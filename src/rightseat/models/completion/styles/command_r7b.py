"""Command R7B and Command A: a JSON array between `<|START_ACTION|>` and `<|END_ACTION|>`."""

from rightseat.core.model import Begun
from rightseat.models.completion.engine import Trigger
from rightseat.models.completion.grammar.nodes import Chars, Literal, Repeat
from rightseat.models.completion.reading.answers import read_calls
from rightseat.models.completion.reading.reader import Reader
from rightseat.models.completion.reading.source import Reading
from rightseat.models.completion.styles.forms import Calls, Enveloped
from rightseat.models.completion.styles.style import Style

THOUGHT = ("<|START_THINKING|>", "<|END_THINKING|>")
TEXT = ("<|START_RESPONSE|>", "<|END_RESPONSE|>")


def answer(reader: Reader, style: Style) -> Reading[None]:
    """A thought and a text stand between tokens of their own, where the model says them."""
    source = reader.source
    yield from source.spaces()
    if (yield from source.literal(THOUGHT[0])):
        yield from source.until(THOUGHT[1], reader.think)
        yield from source.spaces()
    if (yield from source.literal(TEXT[0])):
        yield from reader.text(TEXT[1])
        return
    yield from read_calls(reader, style.calls.mark, style.calls.read)


def begun(said: Begun, held: bool) -> str:
    thought = f"{THOUGHT[0]}{said.thought}" if said.thought else ""
    if said.is_thinking:
        return thought
    return f"{thought + THOUGHT[1] if thought else ''}{said.text if held else TEXT[0] + said.text}"


STYLE = Style(
    name="command-r7b",
    families="Command R7B, Command A",
    signs=("<|START_ACTION|>",),
    calls=Calls(
        begin="<|START_ACTION|>",
        opens="[",
        form=Enveloped(
            mark="",
            first=(Literal('"tool_call_id": "'), Repeat(Chars(((48, 57),)), 1, 2), Literal('", ')),
            name="tool_name",
            arguments="parameters",
        ),
        between=", ",
        end="]<|END_ACTION|>",
    ),
    answer=answer,
    begun=begun,
    triggers=(Trigger("word", "<|START_ACTION|>"),),
    preserved=("<|START_ACTION|>", "<|END_ACTION|>", *THOUGHT, *TEXT),
)
