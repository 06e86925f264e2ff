"""For larger models without training in tools: reasoning about the next step, then that step, as one JSON object."""

from collections.abc import Sequence

from rightseat.core.model import PartialOutput
from rightseat.core.tools import Tool
from rightseat.models.completion.grammar.nodes import Choice, Concat, LiteralText, Node
from rightseat.models.completion.grammar.schema import GrammarBuilder
from rightseat.models.completion.parsing.reader import InvalidOutput, Reader
from rightseat.models.completion.parsing.source import Reading
from rightseat.models.completion.styles.forms import CallSection, EnvelopedCall, dump_json, read_envelope
from rightseat.models.completion.styles.style import AllowedOutput, Signatures, Style, TemplateTurn
from rightseat.models.completion.styles.tool_prompts import append_system_text, format_signatures

REASONING, STEP, CALLED, RESULT = "thought_about_next_step_only", "next_step", "tool_calls", "result"
MAX_REASONING_CHARS = 200  # in one sentence about the next step
CALLS = CallSection(begin=f'{{"{CALLED}": ', opens="[", form=EnvelopedCall(mark=""), between=", ", end="]}")

EXPLAINED = """\
You may call functions to do what the user wants. These are at hand:

{tools}

Answer with one JSON object: first "thought_about_next_step_only", a sentence about what to do next; then "next_step".
Where functions have to be called, "next_step" is {{"tool_calls": [{{"name": …, "arguments": {{…}}}}]}}.
Where no function is needed, "next_step" has one member instead, "result": the text that the user reads."""


def offer(turns: Sequence[TemplateTurn], tools: Sequence[Tool], signatures: Signatures) -> list[TemplateTurn]:
    return append_system_text(EXPLAINED.format(tools="\n".join(format_signatures(tools, signatures))), turns)


def history(turns: Sequence[TemplateTurn]) -> list[TemplateTurn]:
    """Write calls in the form in which the model generated them, and results as user messages."""
    return [write_turn(turn) for turn in turns]


def write_turn(turn: TemplateTurn) -> TemplateTurn:
    if turn["role"] == "tool":
        return {"role": "user", "content": f"The function {turn['name']} returned: {turn['content']}"}
    if calls := turn.get("tool_calls"):
        called = ", ".join(
            f'{{"name": {dump_json(call["function"]["name"])}, "arguments": {call["function"]["arguments"]}}}'
            for call in calls
        )
        return {"role": "assistant", "content": f'{{"{STEP}": {{"{CALLED}": [{called}]}}}}'}
    return turn


def grammar(builder: GrammarBuilder, wanted: AllowedOutput) -> Node:
    reasoning = builder.value({"type": "string", "maxLength": MAX_REASONING_CHARS}, REASONING)
    options: list[Node] = []
    if wanted.calls:
        options.append(CALLS.node(wanted.calls, several=wanted.several))
    if wanted.text is not None:
        options.append(Concat((LiteralText(f'{{"{RESULT}": '), wanted.text, LiteralText("}"))))
    step = options[0] if len(options) == 1 else Choice(tuple(options))
    return Concat((LiteralText(f'{{"{REASONING}": '), reasoning, LiteralText(f', "{STEP}": '), step, LiteralText("}")))


def answer(reader: Reader, style: Style) -> Reading[None]:
    """Parse reasoning, calls and result. A response that is not such an object is text."""
    source = reader.source
    source.held, anchor = True, source.at
    yield from source.spaces()
    key = (yield from _key(reader)) if (yield from source.literal("{")) else None
    if key not in (REASONING, STEP):
        source.at, source.held = anchor, False
        if not (reader.cut and key is None and source.text[anchor:].lstrip().startswith("{")):
            yield from reader.read_text()
        return
    source.held = False
    if key == REASONING:
        is_complete = yield from source.content(reader.add_reasoning)
        yield from source.spaces()
        if not is_complete or not (yield from source.literal(",")) or (yield from _key(reader)) != STEP:
            raise InvalidOutput(f"reasoning without {STEP!r} after it")
    yield from _read_step(reader)


def _read_step(reader: Reader) -> Reading[None]:
    source = reader.source
    key = (yield from _key(reader)) if (yield from source.literal("{")) else None
    if key == RESULT:
        if (yield from source.literal('"')):
            source.at -= 1
            yield from source.content(reader.add_text)
        else:
            yield from source.value(reader.add_text)  # a result with its own schema
        return
    if key != CALLED or not (yield from source.literal("[")):
        raise InvalidOutput(f"a {STEP!r} with neither {CALLED!r} nor {RESULT!r}")
    while True:
        yield from source.spaces()
        if not (yield from read_envelope(reader, ("name",), ("arguments",))):
            raise InvalidOutput("a call that is not a JSON object with a name and arguments")
        yield from source.spaces()
        if not (yield from source.literal(",")):
            return


def _key(reader: Reader) -> Reading[str | None]:
    """Parse a member's name, up to its value."""
    source = reader.source
    yield from source.spaces()
    key = yield from source.string()
    yield from source.spaces()
    if key is None or not (yield from source.literal(":")):
        return None
    yield from source.spaces()
    return key


def write_partial(partial: PartialOutput, is_constrained: bool) -> str:
    """The object up to the interruption. A text that has a schema is no string there: it is not known as one here."""
    if not is_constrained:
        return partial.text
    reasoning = f'{{"{REASONING}": {dump_json(partial.reasoning)}'
    if partial.is_reasoning:
        return reasoning.removesuffix('"')
    return f'{reasoning}, "{STEP}": {{"{RESULT}": {dump_json(partial.text).removesuffix(chr(34))}'


STYLE = Style(
    name="generic",
    families="any, by `style: generic`",
    template_markers=(),
    calls=CALLS,
    answer=answer,
    write_partial=write_partial,
    grammar=grammar,
    offer=offer,
    history=history,
)
