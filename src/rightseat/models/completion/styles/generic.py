"""For larger models without training in tools: a thought about the next step, then that step, as one JSON object."""

from collections.abc import Sequence

from rightseat.core.model import Begun
from rightseat.core.tools import Tool
from rightseat.models.completion.grammar.nodes import Choice, Literal, Node
from rightseat.models.completion.grammar.nodes import Sequence as Order
from rightseat.models.completion.grammar.schema import Builder
from rightseat.models.completion.reading.reader import Broken, Reader
from rightseat.models.completion.reading.source import Reading
from rightseat.models.completion.styles.forms import Calls, Enveloped, read_envelope
from rightseat.models.completion.styles.offering import introduce
from rightseat.models.completion.styles.offering import signatures as sign
from rightseat.models.completion.styles.spelling import spell
from rightseat.models.completion.styles.style import Signatures, Style, Turn, Wanted

THOUGHT, STEP, CALLED, RESULT = "thought_about_next_step_only", "next_step", "tool_calls", "result"
LONGEST = 200  # characters of a thought
CALLS = Calls(begin=f'{{"{CALLED}": ', opens="[", form=Enveloped(mark=""), between=", ", end="]}")

EXPLAINED = """\
You may call functions to do what the user wants. These are at hand:

{tools}

Answer with one JSON object: first "thought_about_next_step_only", a sentence about what to do next; then "next_step".
Where functions have to be called, "next_step" is {{"tool_calls": [{{"name": …, "arguments": {{…}}}}]}}.
Where you can answer the user, it is {{"result": "your answer"}}."""


def offer(turns: Sequence[Turn], tools: Sequence[Tool], signatures: Signatures) -> list[Turn]:
    return introduce(EXPLAINED.format(tools="\n".join(sign(tools, signatures))), turns)


def history(turns: Sequence[Turn]) -> list[Turn]:
    """Calls as the model once said them, results as what a user says."""
    return [write_turn(turn) for turn in turns]


def write_turn(turn: Turn) -> Turn:
    if turn["role"] == "tool":
        return {"role": "user", "content": f"The function {turn['name']} returned: {turn['content']}"}
    if calls := turn.get("tool_calls"):
        called = ", ".join(
            f'{{"name": {spell(call["function"]["name"])}, "arguments": {call["function"]["arguments"]}}}'
            for call in calls
        )
        return {"role": "assistant", "content": f'{{"{STEP}": {{"{CALLED}": [{called}]}}}}'}
    return turn


def grammar(builder: Builder, wanted: Wanted) -> Node:
    thought = builder.value({"type": "string", "maxLength": LONGEST}, THOUGHT)
    options: list[Node] = []
    if wanted.calls:
        options.append(CALLS.node(wanted.calls, several=wanted.several))
    if wanted.text is not None:
        options.append(Order((Literal(f'{{"{RESULT}": '), wanted.text, Literal("}"))))
    step = options[0] if len(options) == 1 else Choice(tuple(options))
    return Order((Literal(f'{{"{THOUGHT}": '), thought, Literal(f', "{STEP}": '), step, Literal("}")))


def answer(reader: Reader, style: Style) -> Reading[None]:
    """The thought is a thought, the result is text. What is no such object is text as it stands."""
    source = reader.source
    source.held, anchor = True, source.at
    yield from source.spaces()
    key = (yield from _key(reader)) if (yield from source.literal("{")) else None
    if key not in (THOUGHT, STEP):
        source.at, source.held = anchor, False
        if not (reader.cut and key is None and source.text[anchor:].lstrip().startswith("{")):
            yield from reader.text()
        return
    source.held = False
    if key == THOUGHT:
        whole = yield from source.content(reader.think)
        yield from source.spaces()
        if not whole or not (yield from source.literal(",")) or (yield from _key(reader)) != STEP:
            raise Broken(f"a thought, and no {STEP!r} after it")
    yield from _read_step(reader)


def _read_step(reader: Reader) -> Reading[None]:
    source = reader.source
    key = (yield from _key(reader)) if (yield from source.literal("{")) else None
    if key == RESULT:
        if (yield from source.literal('"')):
            source.at -= 1
            yield from source.content(reader.say)
        else:
            yield from source.value(reader.say)  # an answer that has a schema of its own
        return
    if key != CALLED or not (yield from source.literal("[")):
        raise Broken(f"a {STEP!r} with neither {CALLED!r} nor {RESULT!r}")
    while True:
        yield from source.spaces()
        if not (yield from read_envelope(reader, ("name",), ("arguments",))):
            raise Broken("a call that is no JSON object with a name and arguments")
        yield from source.spaces()
        if not (yield from source.literal(",")):
            return


def _key(reader: Reader) -> Reading[str | None]:
    """A member's name, up to its value."""
    source = reader.source
    yield from source.spaces()
    key = yield from source.string()
    yield from source.spaces()
    if key is None or not (yield from source.literal(":")):
        return None
    yield from source.spaces()
    return key


def begun(said: Begun, held: bool) -> str:
    """The object up to where it broke off. A text that has a schema is no string there: it is not known as one here."""
    if not held:
        return said.text
    thought = f'{{"{THOUGHT}": {spell(said.thought)}'
    if said.is_thinking:
        return thought.removesuffix('"')
    return f'{thought}, "{STEP}": {{"{RESULT}": {spell(said.text).removesuffix(chr(34))}'


STYLE = Style(
    name="generic",
    families="any, by `style: generic`",
    signs=(),
    calls=CALLS,
    answer=answer,
    begun=begun,
    grammar=grammar,
    offer=offer,
    history=history,
)
