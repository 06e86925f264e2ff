"""A placeholder for servers without a model, whose agents bring their own (as CopilotKit's EmptyAdapter).

Such a server needs no key. A request for a model fails with advice.
"""

from collections.abc import AsyncIterator

from pydantic import BaseModel, ConfigDict

from rightseat.core.errors import NotConfigured
from rightseat.core.model import Chunk, Model, Prompt

ADVICE = (
    "No model is configured here: its `type` is `empty`, for agents that bring their own. "
    "Use one of those agents, or configure a model such as `type: openai` in rightseat.yaml."
)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options) -> Model:
    return Empty()


class Empty:
    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        raise NotConfigured(ADVICE)
