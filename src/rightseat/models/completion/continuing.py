"""An answer that broke off, as its model would have written it, so that an engine goes on behind it.

1. The style writes what was said (`Style.begun`), and the reader reads it back. It has to come to just what was said.
2. Spaces at the end are not sent: a token holds the space before its word. The engine has to say them again.
3. A grammar is brought to where the answer is; where that cannot be, the answer does not go on.
4. What was said counts as output, in the usage and for the longest answer; so the engine has to count tokens.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from rightseat.core.continuing import Known
from rightseat.core.model import Begun, CannotContinue, Chunk, NoteChunk
from rightseat.models.completion.engine import Constraint, End, Engine, Request
from rightseat.models.completion.grammar import consuming
from rightseat.models.completion.planning import Plan
from rightseat.models.completion.reading.reader import Broken, Reader
from rightseat.models.completion.reading.source import begins
from rightseat.models.completion.styles.style import Style, thought_of


@runtime_checkable
class Counting(Protocol):
    """An engine that says how many tokens a text has; None where it does not know."""

    async def count(self, text: str) -> int | None: ...


async def prepare(engine: Engine, plan: Plan, request: Request, reader: Reader, begun: Begun) -> "Rest":
    """`request` is that of the whole answer, and `reader` is at its beginning."""
    check_stops(request.stop, begun)
    written = write(plan, request.prompt, trimmed(begun))
    known = Known(begun)
    read_back(reader, written, known)
    constraint = await asyncio.to_thread(constrain, request.constraint, written, begun)  # it may take a second
    count = await engine.count(written) if isinstance(engine, Counting) else None
    if count is None:
        raise CannotContinue("its engine does not say how many tokens a text has")
    if request.max_tokens is not None and request.max_tokens <= count:
        raise CannotContinue("it was as long as it may be")
    most = None if request.max_tokens is None else request.max_tokens - count
    prompt = request.prompt + written
    return Rest(msgspec.structs.replace(request, prompt=prompt, constraint=constraint, max_tokens=most), known, count)


class Rest:
    """What is asked for, and what of the reader's chunks is new."""

    def __init__(self, request: Request, known: Known, count: int) -> None:
        self.request = request
        self._known = known
        self._count = count
        self._notes: list[Chunk] = []  # that wait for the text they stand before

    def new(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            if isinstance(chunk, NoteChunk) and not self._known.is_through:
                self._notes.append(chunk)
            elif (new := self._known.take(chunk)) is not None:
                yield from self._notes
                self._notes.clear()
                yield new

    def whole(self, end: End) -> End:
        """The end of the whole answer: what was said before was read by the engine, and is no input."""
        return msgspec.structs.replace(
            end, input_tokens=end.input_tokens - self._count, output_tokens=end.output_tokens + self._count
        )


def write(plan: Plan, prompt: str, begun: Begun) -> str:
    """What is behind the prompt. `begun` is what was said, but for spaces at its end."""
    style = plan.style
    whole = usual(style, begun) if style.begun is None else style.begun(begun, plan.root is not None)
    head = plan.said(prompt)
    if not head:
        return whole
    if not whole.startswith(head):
        whole = thought_of("") + whole  # the template has begun a thought, and it was empty
    if not whole.startswith(head):
        raise CannotContinue("its chat template has begun the answer in another way")
    behind = whole.removeprefix(head)
    return behind.removeprefix("\n") if prompt.endswith("\n") else behind


def usual(style: Style, begun: Begun) -> str:
    if begun.is_thinking:
        return thought_of(begun.thought, is_open=True)
    return (thought_of(begun.thought) if begun.thought else "") + style.before_text + begun.text


def trimmed(begun: Begun) -> Begun:
    if begun.is_thinking:
        return Begun(begun.thought.rstrip(" "), is_thinking=True)
    return Begun(begun.thought, begun.text.rstrip(" "))


def read_back(reader: Reader, written: str, known: Known) -> None:
    try:
        new = [chunk for chunk in map(known.take, reader.feed(written)) if chunk is not None]
    except Broken as error:
        raise CannotContinue(str(error)) from error
    if new:
        raise CannotContinue("what was said of it can be read in another way")


def constrain(constraint: Constraint | None, written: str, begun: Begun) -> Constraint | None:
    """To what may follow. A lazy grammar stays as it is, but for what a whole answer alone could have begun with."""
    if constraint is None or not written:
        return constraint
    if constraint.triggers:
        words = tuple(trigger for trigger in constraint.triggers if trigger.kind == "word" or not begun.text)
        if not words:
            raise CannotContinue("its calls stand at the beginning of an answer only")
        return msgspec.structs.replace(constraint, triggers=words)
    grammar = consuming.after(constraint.grammar, written)
    if grammar is None:
        raise CannotContinue("the grammar that it is held to cannot be brought to this place")
    return msgspec.structs.replace(constraint, grammar=grammar)


def check_stops(stop: Sequence[str], begun: Begun) -> None:
    """A word that ends the answer might have been said in part, and the engine would not know it again."""
    if begins(begun.text, 0, tuple(stop)) < len(begun.text):
        raise CannotContinue("it broke off within what may be a stop word")
