"""A backend that says what it is told to, and keeps what it was asked."""

from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Self

from rightseat.core.model import CallChunk, Chunk, ReasoningChunk, TextChunk
from rightseat.core.tools import Tool
from rightseat.models.completion.backend import CompletionRequest, Description, End, TextPiece
from rightseat.models.completion.parsing.reader import Reader
from rightseat.models.completion.styles.style import Style

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{{ '<|im_start|>assistant\n' }}"
)


class Player:
    """Says each of `answers`, in pieces of `size` characters, to one request after another."""

    def __init__(
        self,
        *answers: str,
        description: Description | None = None,
        size: int = 3,
        end: End | None = None,
        has_triggers: bool = True,
    ) -> None:
        self.answers = list(answers)
        self.description = description or Description(template=CHATML)
        self.size = size
        self.end = end or End("stop", 7, 5)
        self.has_triggers = has_triggers
        self.requests: list[CompletionRequest] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def describe(self) -> Description:
        return self.description

    async def generate(self, request: CompletionRequest) -> AsyncIterator[TextPiece | End]:
        self.requests.append(request)
        for piece in cut(self.answers.pop(0), (self.size,)):
            yield TextPiece(piece)
        yield self.end


def cut(text: str, sizes: Sequence[int]) -> list[str]:
    """The text in pieces of these sizes, again and again."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[at : at + size])
        at += size
    return pieces


def reading(style: Style, tools: Sequence[Tool], said: str = "") -> Reader:
    return Reader(lambda reader: style.answer(reader, style), {tool.name: tool.parameters for tool in tools}, said)


def read(reader: Reader, pieces: Sequence[str], *, was_cut: bool = False) -> list[Chunk]:
    chunks = [chunk for piece in pieces for chunk in reader.feed(piece)]
    return [*chunks, *reader.end(cut=was_cut)]


def joined(chunks: Sequence[Chunk], kind: type[TextChunk | ReasoningChunk] = TextChunk) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, kind))


def calls_of(chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
    """Name and arguments of each call. The name comes once, with the call's first piece."""
    calls: dict[int, tuple[str, str]] = {}
    for chunk in chunks:
        if isinstance(chunk, CallChunk):
            name, arguments = calls.get(chunk.index, ("", ""))
            assert bool(chunk.name) == (chunk.index not in calls)
            calls[chunk.index] = (name + chunk.name, arguments + chunk.arguments)
    return [calls[index] for index in sorted(calls)]
