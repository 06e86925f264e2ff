"""A model that reasons, and says nothing until the command has said that it waits."""

import asyncio
import threading
from collections.abc import AsyncIterator

from pydantic import BaseModel

from rightseat.core.model import Chunk, Model, Prompt, ReasoningChunk, StopChunk, TextChunk

HAS_SAID = threading.Event()


class Options(BaseModel):
    pass


class SilentModel:
    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        yield ReasoningChunk("Hm.")
        await asyncio.to_thread(HAS_SAID.wait, 20)
        yield TextChunk("At last.")
        yield StopChunk("stop")


def build(options: Options) -> Model:
    return SilentModel()
