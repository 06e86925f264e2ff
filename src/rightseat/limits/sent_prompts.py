"""What records the prompts of the model calls of a run, if the configuration asks for it (`evals.record_prompts`).

It is in the context of the run's task, as its meter is. `metered_model` finds it there, because only a model that is
chosen and bounded has the prompt that is sent.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

from rightseat.core.ask import Ask
from rightseat.core.call_labels import CallLabels
from rightseat.limits.meter import OpenStream


class PromptRecorder(Protocol):
    def wrap(self, model: str, provider_model: str, labels: CallLabels, open_stream: OpenStream) -> OpenStream:
        """Record each prompt that is given to `open_stream`, before it is sent. `model` is a name under `models`."""
        ...


RecordPrompts = Callable[[Ask], PromptRecorder | None]
"""None for a run whose prompts are not recorded."""

PROMPT_RECORDER: ContextVar[PromptRecorder | None] = ContextVar("rightseat_prompt_recorder", default=None)
