"""Command R7B and Command A: a JSON array between `<|START_ACTION|>` and `<|END_ACTION|>`."""

from rightseat.core.model import PartialOutput
from rightseat.models.completion.backend import Trigger
from rightseat.models.completion.grammar.nodes import Chars, LiteralText, Repeat
from rightseat.models.completion.parsing.answers import read_calls
from rightseat.models.completion.parsing.reader import Reader
from rightseat.models.completion.parsing.source import Reading
from rightseat.models.completion.styles.forms import CallSection, EnvelopedCall
from rightseat.models.completion.styles.style import Style

REASONING_MARKERS = ("<|START_THINKING|>", "<|END_THINKING|>")
TEXT = ("<|START_RESPONSE|>", "<|END_RESPONSE|>")


def answer(reader: Reader, style: Style) -> Reading[None]:
    """Reasoning and text are each between their own control tokens, if present."""
    source = reader.source
    yield from source.spaces()
    if (yield from source.literal(REASONING_MARKERS[0])):
        yield from source.until(REASONING_MARKERS[1], reader.add_reasoning)
        yield from source.spaces()
    if (yield from source.literal(TEXT[0])):
        yield from reader.read_text(TEXT[1])
        return
    yield from read_calls(reader, style.calls.mark, style.calls.read)


def write_partial(partial: PartialOutput, is_constrained: bool) -> str:
    reasoning = f"{REASONING_MARKERS[0]}{partial.reasoning}" if partial.reasoning else ""
    if partial.is_reasoning:
        return reasoning
    text = partial.text if is_constrained else TEXT[0] + partial.text
    return f"{reasoning}{REASONING_MARKERS[1]}{text}" if reasoning else text


STYLE = Style(
    name="command-r7b",
    families="Command R7B, Command A",
    template_markers=("<|START_ACTION|>",),
    calls=CallSection(
        begin="<|START_ACTION|>",
        opens="[",
        form=EnvelopedCall(
            mark="",
            first=(LiteralText('"tool_call_id": "'), Repeat(Chars(((48, 57),)), 1, 2), LiteralText('", ')),
            name="tool_name",
            arguments="parameters",
        ),
        between=", ",
        end="]<|END_ACTION|>",
    ),
    answer=answer,
    write_partial=write_partial,
    triggers=(Trigger("word", "<|START_ACTION|>"),),
    preserved=("<|START_ACTION|>", "<|END_ACTION|>", *REASONING_MARKERS, *TEXT),
)
