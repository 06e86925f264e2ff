"""A model that answers at once and reports a thousand tokens."""

from collections.abc import AsyncIterator

from pydantic import BaseModel, ConfigDict

from rightseat.core.model import Chunk, Model, Prompt, StopChunk, TextChunk, UsageChunk

ANSWER_TOKENS = 1000


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options) -> Model:
    return NaiveModel()


class NaiveModel:
    def __init__(self) -> None:
        self.calls = 0

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        self.calls += 1
        yield TextChunk("Well")
        yield StopChunk("stop")
        yield UsageChunk(ANSWER_TOKENS - 1, 1)
