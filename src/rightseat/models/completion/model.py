"""A model behind a raw completion endpoint: its prompt is written here, and its text is read here."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

import msgspec

from rightseat.core.ask import Parameters
from rightseat.core.closing import closing
from rightseat.core.deadlines import Deadlines, Timeouts, model_timeout
from rightseat.core.errors import PromptTooLong
from rightseat.core.events import StopReason
from rightseat.core.model import Begun, Chunk, NoteChunk, Prompt, StopChunk, UsageChunk
from rightseat.models.completion import continuing, planning
from rightseat.models.completion.engine import Constraint, Description, End, Engine, Piece, Request
from rightseat.models.completion.offered import too_long
from rightseat.models.completion.reading.reader import Reader
from rightseat.models.completion.styles import choose
from rightseat.models.completion.styles.style import Signatures, Style
from rightseat.models.completion.templates import Template, Templates


class Opened(Engine, Protocol):
    """An engine that is opened before it is asked. `has_triggers`: a grammar may begin to hold after a trigger."""

    @property
    def has_triggers(self) -> bool: ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Completion:
    def __init__(
        self,
        engine: Opened,
        *,
        style: str = "auto",
        signatures: Signatures | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        timeouts: Timeouts = Timeouts(),  # noqa: B008
    ) -> None:
        self._engine = engine
        self._style = style
        self._signatures = signatures
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._timeouts = timeouts
        self._timeout = model_timeout(f"The model of {getattr(engine, 'place', 'the engine')}", timeouts)
        self._templates = Templates()
        self._known: _Known | None = None

    async def __aenter__(self) -> Self:
        await self._engine.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._templates.__aexit__(kind, error, trace)
        await self._engine.__aexit__(kind, error, trace)

    async def ready(self) -> None:
        """Until an engine that we start can be asked. Raises a `ModelError` where that fails."""
        if wait := getattr(self._engine, "wait", None):
            await wait()

    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        return self._answer(prompt)

    def go_on(self, prompt: Prompt, begun: Begun) -> AsyncIterator[Chunk]:
        return self._answer(prompt, begun)

    async def _answer(self, prompt: Prompt, begun: Begun | None = None) -> AsyncIterator[Chunk]:
        known = await self._know()
        prompt = self._as_configured(prompt)
        plan = planning.plan(prompt, known.style, triggers=self._engine.has_triggers)
        written = planning.write(plan, prompt, known.description, self._signatures)
        text = await known.template.render(written.turns, written.tools, written.more)
        request = self._request(prompt, text, plan.constraint(text, thinks=known.thinks), known)
        reader, rest = plan.reader(text), None
        if begun is None:
            for warning in plan.warnings:
                yield NoteChunk("warning", warning)
        else:
            rest = await continuing.prepare(self._engine, plan, request, reader, begun)
            request = rest.request
        try:
            with Deadlines(self._timeouts, self._timeout) as deadlines:
                async with closing(self._engine.generate(request)) as pieces:
                    async for piece in pieces:
                        deadlines.pause()
                        if type(piece) is Piece:
                            chunks = reader.feed(piece.text)
                            if piece.logprobs:
                                chunks.insert(0, NoteChunk("logprobs", list(piece.logprobs)))
                            for chunk in chunks if rest is None else rest.new(chunks):
                                yield chunk
                        elif type(piece) is End:
                            end = piece if rest is None else rest.whole(piece)
                            chunks = finish(reader, end, prompt.parameters)
                            for chunk in chunks if rest is None else rest.new(chunks):
                                yield chunk
                        deadlines.resume(True)
        except PromptTooLong as error:
            raise too_long(error, plan.tools, text) from None

    async def _know(self) -> "_Known":
        """What the engine says of its model, and what follows from it; found out again where the engine has another."""
        description = await self._engine.describe()
        if self._known is None or self._known.description is not description:
            style, _ = choose(description, self._style)
            template = self._templates.get(description.template, bos=description.bos, eos=description.eos)
            self._known = _Known(description, style, template)
        return self._known

    def _as_configured(self, prompt: Prompt) -> Prompt:
        """With our own settings where the client leaves them open."""
        asked = prompt.parameters
        ours = {"max_tokens": self._max_tokens, "temperature": self._temperature}
        open_ = {name: value for name, value in ours.items() if getattr(asked, name) is None and value is not None}
        if not open_:
            return prompt
        return msgspec.structs.replace(prompt, parameters=msgspec.structs.replace(asked, **open_))

    def _request(self, prompt: Prompt, text: str, constraint: Constraint | None, known: "_Known") -> Request:
        asked = prompt.parameters
        return Request(
            prompt=text,
            constraint=constraint,
            preserved=() if constraint else known.style.preserved,
            stop=(*(asked.stop or ()), *known.style.stop, *known.template.stop),
            max_tokens=asked.max_tokens,
            temperature=asked.temperature,
            top_p=asked.top_p,
            seed=asked.seed,
            presence_penalty=asked.presence_penalty,
            frequency_penalty=asked.frequency_penalty,
            logprobs=asked.logprobs,
            thread_id=prompt.thread_id,
        )


@dataclass(frozen=True, slots=True)
class _Known:
    description: Description
    style: Style
    template: Template

    @property
    def thinks(self) -> bool:
        """Whether the model was trained to think aloud before it answers."""
        return planning.THINK in self.template.source


def finish(reader: Reader, end: End, asked: Parameters) -> list[Chunk]:
    """What was held back, why the answer ended, and what it cost. A call may be cut short by a word of the client's."""
    cut = end.reason != "stop" or (end.stop is not None and end.stop in (asked.stop or ()))
    chunks = reader.end(cut=cut)
    reason: StopReason = "calls" if end.reason == "stop" and reader.called else end.reason
    if reader.open and end.reason == "stop":
        reason = "length"
    return [*chunks, StopChunk(reason), UsageChunk(end.input_tokens, end.output_tokens)]
