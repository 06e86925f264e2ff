"""No model: for servers whose agents bring their own, as CopilotKit's EmptyAdapter is.

A server with agents behind other servers needs no key. Whoever asks for an answer of a model all the same is told what
would be right.
"""

from collections.abc import AsyncIterator

from pydantic import BaseModel, ConfigDict

from rightseat.core.errors import Misuse
from rightseat.core.model import Chunk, Model, Prompt

ADVICE = (
    "This server has no model: its `type` is `empty`, which is for agents that bring their own. "
    "Ask one of those, or name a model such as `type: openai` in rightseat.yaml."
)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options) -> Model:
    return Empty()


class Empty:
    def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        raise Misuse(ADVICE)
