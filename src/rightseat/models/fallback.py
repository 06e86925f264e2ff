"""Several models as one: where the first cannot answer, it is asked again, and then the next.

1. Only an answer that has not begun is asked for again. What a client has seen of one is never mixed with another.
2. Whoever asked is told, in a warning, which model failed, why, and which one answers.
3. A model that failed often in a row is left alone for a while; then one ask tries it (`models.circuit`).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.closing import closing
from rightseat.core.errors import ModelBusy, ModelError, ModelLoading, ModelRefused, ModelUnreachable
from rightseat.core.model import Chunk, Model, NoteChunk, Prompt
from rightseat.models.circuit import Circuit
from rightseat.parts import ModelName, Parts

logger = logging.getLogger(__name__)

PASSING = (ModelBusy, ModelUnreachable, ModelLoading)
"""What may be over in a moment. A key that is refused stays refused."""


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    models: tuple[ModelName, ...] = Field(min_length=1)
    """The names of the models, in the order in which they are asked."""
    retries: int = Field(default=1, ge=0)
    """How often a model is asked again before the next one is, where it was busy or could not be reached."""
    pause: float = Field(default=0.5, ge=0)
    """Seconds before a model is asked again; twice as long each time. A server's `Retry-After` counts more."""
    longest_pause: float = Field(default=10.0, ge=0)
    """A model that wants to be left alone for more seconds is not waited for: the next one is asked."""
    failures: int = Field(default=5, ge=1)
    """After so many failures in a row a model is left alone."""
    rest: float = Field(default=30.0, gt=0)
    """For so many seconds; then one ask tries it."""


def build(options: Options, parts: Parts) -> Model:
    return Fallback(options, {name: parts.model(name) for name in options.models})


class Fallback:
    def __init__(self, options: Options, models: dict[str, Model], clock: Callable[[], float] | None = None) -> None:
        self._options = options
        self._models = models
        self._circuits = {name: Circuit(name, options.failures, options.rest, clock) for name in models}

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        notes: list[str] = []
        last: ModelError | None = None
        for name, model in self._models.items():
            circuit = self._circuits[name]
            for number in range(self._options.retries + 1):
                if (closed_for := circuit.ask()) is not None:
                    notes.append(
                        f"The model {name!r} is left alone for another {closed_for:.0f} s: it failed too often."
                    )
                    break
                attempt = _Attempt(circuit)
                try:
                    async with closing(attempt.stream(model, prompt, notes)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    return
                except ModelError as error:
                    if attempt.has_begun:
                        raise
                    last = error
                    pause = self._pause(error, number)
                    notes.append(f"The model {name!r} failed ({error.code}): {error.message}")
                    logger.warning("the model %s failed, attempt %d: %s", name, number + 1, error.log_message)
                if pause is None:
                    break
                await asyncio.sleep(pause)
        raise self._all_failed(notes) if last is None else last

    def _pause(self, error: ModelError, number: int) -> float | None:
        """How long to wait before the model is asked again; None if it is not."""
        if number == self._options.retries or not isinstance(error, PASSING):
            return None
        wanted = self._options.pause * 2**number if error.retry_after is None else error.retry_after
        return wanted if wanted <= self._options.longest_pause else None

    def _all_failed(self, notes: Sequence[str]) -> ModelError:
        return ModelUnreachable(f"None of the models can be asked now. {' '.join(notes)}")


class _Attempt:
    """One ask of one model. Warnings wait until its answer begins: one that never does takes them back."""

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self.has_begun = False

    async def stream(self, model: Model, prompt: Prompt, notes: Sequence[str]) -> AsyncIterator[Chunk]:
        waiting: list[Chunk] = [NoteChunk("warning", note) for note in notes]
        if notes:
            waiting.append(NoteChunk("warning", f"The model {self._circuit.name!r} answers."))
        try:
            async with closing(model.stream(prompt)) as chunks:
                async for chunk in chunks:
                    if not self.has_begun and isinstance(chunk, NoteChunk):
                        waiting.append(chunk)
                        continue
                    if not self.has_begun:
                        self.has_begun = True
                        for earlier in waiting:
                            yield earlier
                    yield chunk
        except ModelRefused:
            self._circuit.succeeded()  # it is well: it was the request that it did not like
            raise
        except ModelError:
            self._circuit.failed()
            raise
        except BaseException:
            self._circuit.left()
            raise
        self._circuit.succeeded()
        if not self.has_begun:
            for earlier in waiting:
                yield earlier
