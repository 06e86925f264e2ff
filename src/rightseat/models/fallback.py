"""Several models as one: a request that fails is retried, then sent to the next model.

1. Only a response without content yet is retried, so a client never sees a mix of two responses.
2. The client receives a warning with the failed model, the cause, and the model that responds.
3. A model that failed repeatedly is skipped for a while; then one request probes it (`models.circuit`).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence

from pydantic import BaseModel, ConfigDict, Field

from rightseat.concurrency import aclosing
from rightseat.core.errors import ModelBusy, ModelError, ModelLoading, ModelRefused, ModelUnreachable
from rightseat.core.model import Chunk, Model, NoteChunk, Prompt
from rightseat.models.circuit import CircuitBreaker
from rightseat.parts import ModelName, Parts

logger = logging.getLogger(__name__)

TRANSIENT_ERRORS = (ModelBusy, ModelUnreachable, ModelLoading)
"""Errors worth a retry. A rejected key stays rejected."""


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    models: tuple[ModelName, ...] = Field(min_length=1)
    """Names of the models, in the order in which they are tried."""
    retries: int = Field(default=1, ge=0)
    """Retries per model, after a rate limit or a failed connection, before the next model is tried."""
    backoff: float = Field(default=0.5, ge=0)
    """Seconds before the first retry; doubled each time. A server's `Retry-After` takes precedence."""
    max_backoff: float = Field(default=10.0, ge=0)
    """The longest wait in seconds. If a retry would need longer, the next model is tried instead."""
    failure_threshold: int = Field(default=5, ge=1)
    """Consecutive failures after which a model is skipped."""
    cooldown: float = Field(default=30.0, gt=0)
    """Seconds for which it is skipped; then one request probes it."""


def build(options: Options, parts: Parts) -> Model:
    return Fallback(options, {name: parts.model(name) for name in options.models})


class Fallback:
    is_composed = True
    """Each of its models is counted for itself."""

    def __init__(self, options: Options, models: dict[str, Model], clock: Callable[[], float] | None = None) -> None:
        self._options = options
        self._models = models
        self._circuits = {
            name: CircuitBreaker(name, options.failure_threshold, options.cooldown, clock) for name in models
        }

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        notes: list[str] = []
        last: ModelError | None = None
        for name, model in self._models.items():
            circuit = self._circuits[name]
            for number in range(self._options.retries + 1):
                if (seconds := circuit.admit()) is not None:
                    notes.append(f"The model {name!r} is skipped for another {seconds:.0f} s: it failed too often.")
                    break
                attempt = _Attempt(circuit)
                try:
                    async with aclosing(attempt.stream(model, prompt, notes)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    return
                except ModelError as error:
                    if attempt.has_started:
                        raise
                    last = error
                    backoff = self._backoff(error, number)
                    notes.append(f"The model {name!r} failed ({error.code}): {error.message}")
                    logger.warning("the model %s failed, attempt %d: %s", name, number + 1, error.log_message)
                if backoff is None:
                    break
                await asyncio.sleep(backoff)
        raise self._all_failed(notes) if last is None else last

    def _backoff(self, error: ModelError, number: int) -> float | None:
        """Return the seconds before the next retry, None for no retry."""
        if number == self._options.retries or not isinstance(error, TRANSIENT_ERRORS):
            return None
        seconds = self._options.backoff * 2**number if error.retry_after is None else error.retry_after
        return seconds if seconds <= self._options.max_backoff else None

    def _all_failed(self, notes: Sequence[str]) -> ModelError:
        return ModelUnreachable(f"All models are unavailable. {' '.join(notes)}")


class _Attempt:
    """One request to one model. Warnings are held back until its response begins, and dropped if it fails before."""

    def __init__(self, circuit: CircuitBreaker) -> None:
        self._circuit = circuit
        self.has_started = False

    async def stream(self, model: Model, prompt: Prompt, notes: Sequence[str]) -> AsyncIterator[Chunk]:
        warnings: list[Chunk] = [NoteChunk("warning", note) for note in notes]
        if notes:
            warnings.append(NoteChunk("warning", f"The model {self._circuit.name!r} responds."))
        try:
            async with aclosing(model.stream(prompt)) as chunks:
                async for chunk in chunks:
                    if not self.has_started and isinstance(chunk, NoteChunk):
                        warnings.append(chunk)
                        continue
                    if not self.has_started:
                        self.has_started = True
                        for earlier in warnings:
                            yield earlier
                    yield chunk
        except ModelRefused:
            self._circuit.record_success()  # the model works: it rejected this request
            raise
        except ModelError:
            self._circuit.record_failure()
            raise
        except BaseException:
            self._circuit.record_abandoned()
            raise
        self._circuit.record_success()
        if not self.has_started:
            for earlier in warnings:
                yield earlier
