"""Continues an interrupted response: writes it as its model would have, so that a backend completes it.

1. The style writes the partial output (`Style.write_partial`); the reader must parse it back to exactly the same.
2. Spaces at the end are not sent, because a token includes the space before its word. The model repeats them.
3. The grammar is advanced to the end of the partial output; if that is impossible, the response is not continued.
4. The partial output counts as output, in the usage and for `max_tokens`; so the backend has to count tokens.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from rightseat.core.loop.continuation import OverlapFilter
from rightseat.core.model import CannotContinue, Chunk, NoteChunk, PartialOutput
from rightseat.models.completion.backend import Backend, CompletionRequest, Constraint, End
from rightseat.models.completion.grammar import derivative
from rightseat.models.completion.parsing.reader import InvalidOutput, Reader
from rightseat.models.completion.parsing.source import find_partial_mark
from rightseat.models.completion.plan import Plan
from rightseat.models.completion.styles.style import Style, format_reasoning


@runtime_checkable
class SupportsTokenCount(Protocol):
    """A backend that counts the tokens of a text; None if it cannot."""

    async def count(self, text: str) -> int | None: ...


async def prepare(
    backend: Backend, plan: Plan, request: CompletionRequest, reader: Reader, begun: PartialOutput
) -> "ContinuedResponse":
    """`request` is that of the whole response, and `reader` has read nothing yet."""
    check_stops(request.stop, begun)
    written = write(plan, request.prompt, trimmed(begun))
    known = OverlapFilter(begun)
    read_back(reader, written, known)
    constraint = await asyncio.to_thread(constrain, request.constraint, written, begun)  # it may take a second
    count = await backend.count(written) if isinstance(backend, SupportsTokenCount) else None
    if count is None:
        raise CannotContinue("its backend does not count tokens")
    if request.max_tokens is not None and request.max_tokens <= count:
        raise CannotContinue("it had reached its maximum length")
    most = None if request.max_tokens is None else request.max_tokens - count
    prompt = request.prompt + written
    return ContinuedResponse(
        msgspec.structs.replace(request, prompt=prompt, constraint=constraint, max_tokens=most), known, count
    )


class ContinuedResponse:
    """The request for the rest, and the filter for chunks that are new."""

    def __init__(self, request: CompletionRequest, known: OverlapFilter, count: int) -> None:
        self.request = request
        self._known = known
        self._count = count
        self._notes: list[Chunk] = []  # held back until the text that follows them

    def filter_new(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            if isinstance(chunk, NoteChunk) and not self._known.is_through:
                self._notes.append(chunk)
            elif (new := self._known.filter(chunk)) is not None:
                yield from self._notes
                self._notes.clear()
                yield new

    def add_known_tokens(self, end: End) -> End:
        """Return the end with the usage of the whole response: the partial output is no input."""
        return msgspec.structs.replace(
            end, input_tokens=end.input_tokens - self._count, output_tokens=end.output_tokens + self._count
        )


def write(plan: Plan, prompt: str, begun: PartialOutput) -> str:
    """Return the text behind the prompt. `begun` has no spaces at its end."""
    style = plan.style
    whole = usual(style, begun) if style.write_partial is None else style.write_partial(begun, plan.root is not None)
    head = plan.response_start(prompt)
    if not head:
        return whole
    if not whole.startswith(head):
        whole = format_reasoning("") + whole  # the template opened the reasoning, which stayed empty
    if not whole.startswith(head):
        raise CannotContinue("its chat template starts the response in another way")
    behind = whole.removeprefix(head)
    return behind.removeprefix("\n") if prompt.endswith("\n") else behind


def usual(style: Style, begun: PartialOutput) -> str:
    if begun.is_reasoning:
        return format_reasoning(begun.reasoning, is_open=True)
    return (format_reasoning(begun.reasoning) if begun.reasoning else "") + style.before_text + begun.text


def trimmed(begun: PartialOutput) -> PartialOutput:
    if begun.is_reasoning:
        return PartialOutput(begun.reasoning.rstrip(" "), is_reasoning=True)
    return PartialOutput(begun.reasoning, begun.text.rstrip(" "))


def read_back(reader: Reader, written: str, known: OverlapFilter) -> None:
    try:
        new = [chunk for chunk in map(known.filter, reader.feed(written)) if chunk is not None]
    except InvalidOutput as error:
        raise CannotContinue(str(error)) from error
    if new:
        raise CannotContinue("its partial output is ambiguous")


def constrain(constraint: Constraint | None, written: str, begun: PartialOutput) -> Constraint | None:
    """Advance the grammar. A lazy one stays, except for triggers that match only at the start of a response."""
    if constraint is None or not written:
        return constraint
    if constraint.triggers:
        words = tuple(trigger for trigger in constraint.triggers if trigger.kind == "word" or not begun.text)
        if not words:
            raise CannotContinue("its calls are at the start of a response only")
        return msgspec.structs.replace(constraint, triggers=words)
    grammar = derivative.derive(constraint.grammar, written)
    if grammar is None:
        raise CannotContinue("its grammar cannot be advanced to this place")
    return msgspec.structs.replace(constraint, grammar=grammar)


def check_stops(stop: Sequence[str], begun: PartialOutput) -> None:
    """Fail if the partial output may end inside a stop word, which the backend would not recognise."""
    if find_partial_mark(begun.text, 0, tuple(stop)) < len(begun.text):
        raise CannotContinue("it ends inside a possible stop word")
