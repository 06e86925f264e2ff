"""The demo model of examples/plugins-app with the pace and the token counts of a hosted one, for pictures."""

import asyncio
from collections.abc import AsyncIterator

from ops.demo_model import DemoModel, Options  # in the example's folder, when it runs

from rightseat.core.model import Chunk, Model, Prompt, StopChunk, TextChunk, UsageChunk

FIRST_CHUNK_S = 0.35
CHARS_PER_TOKEN = 4


def build(options: Options) -> Model:
    return PacedModel(DemoModel(0.03))


class PacedModel:
    def __init__(self, inner: Model) -> None:
        self._inner = inner

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        await asyncio.sleep(FIRST_CHUNK_S)  # as a real model, so that the pictures show real times
        read, written = sum(len(message.text) for message in prompt.messages), 0
        async for chunk in self._inner.stream(prompt):
            if isinstance(chunk, TextChunk):
                written += len(chunk.text)
            elif isinstance(chunk, StopChunk):
                yield UsageChunk(read // CHARS_PER_TOKEN, written // CHARS_PER_TOKEN)
            yield chunk
