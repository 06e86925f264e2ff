"""A model that passes each prompt to another one, and does not say that it is composed."""

from collections.abc import AsyncIterator

from pydantic import BaseModel, ConfigDict

from rightseat.core.model import Chunk, Model, Prompt
from rightseat.parts import Parts


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options, parts: Parts) -> Model:
    return NaiveRouter(parts.model("default"))


class NaiveRouter:
    def __init__(self, model: Model) -> None:
        self._model = model

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        async for chunk in self._model.stream(prompt):
            yield chunk
