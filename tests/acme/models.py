"""A model that can be opened, closed and cancelled, and keeps a diary of it."""

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from rightseat.core.model import Chunk, Model, Prompt, TextChunk


class Limits(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    tokens: int = 100


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = "acme"
    secret: SecretStr | None = Field(default=None, min_length=8)
    limits: Limits = Limits()


def build(options: Options) -> Model:
    return Diarist(options.name, diary)


class Diarist:
    """Says one word and then nothing more, until it is cancelled."""

    def __init__(self, name: str, diary: list[str]) -> None:
        self.name = name
        self.diary = diary
        self.speaking = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.diary.append(f"{self.name} opened")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.diary.append(f"{self.name} closed")

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        try:
            yield TextChunk("Well")
            self.speaking.set()
            await asyncio.Event().wait()
        finally:
            self.diary.append(f"{self.name} cancelled")


diary: list[str] = []
