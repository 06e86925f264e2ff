"""An agent that calls its model as simply as possible."""

from collections.abc import AsyncIterator

from pydantic import BaseModel, ConfigDict

from rightseat.core.agent import Agent
from rightseat.core.ask import Ask
from rightseat.core.engine import Steps
from rightseat.core.events import Event, TextDelta, TextEnded, TextStarted
from rightseat.core.model import Model, Prompt, TextChunk
from rightseat.parts import ModelName, Parts


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    model: ModelName = "default"


def build(options: Options, parts: Parts) -> Agent:
    return NaiveAgent(parts.model(options.model))


class NaiveAgent:
    description = ""

    def __init__(self, model: Model) -> None:
        self._model = model

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield TextStarted("m1")
        async for chunk in self._model.stream(Prompt(ask.messages)):
            if isinstance(chunk, TextChunk):
                yield TextDelta("m1", chunk.text)
        yield TextEnded("m1")
