"""A model that does what the question tells it: `type: tests.evals.directed_model`.

The question is JSON: `calls` are the rounds of calls before the answer `say`; `fail` is the text of an error.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from pydantic import BaseModel, ConfigDict

from rightseat.core.errors import ModelError
from rightseat.core.messages import Result
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk, UsageChunk

PROMPTS: list[Prompt] = []
"""Those of all models, since a test cleared it."""


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    max_tokens: int = 20


def build(options: Options) -> "DirectedModel":
    return DirectedModel(options)


class DirectedModel:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.open = self.most_open = 0

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        PROMPTS.append(prompt)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            for chunk in respond(prompt):
                yield chunk
        finally:
            self.open -= 1


def respond(prompt: Prompt) -> list[Chunk]:
    last = max(place for place, message in enumerate(prompt.messages) if message.role == "user")
    told: dict[str, Any] = json.loads(prompt.messages[last].text)
    if "fail" in told:
        raise ModelError(told["fail"])
    usage = UsageChunk(input_tokens=100, output_tokens=20)
    results = [part for message in prompt.messages[last:] for part in message.parts if isinstance(part, Result)]
    rounds = [message for message in prompt.messages[last:] if message.role == "assistant"]
    if len(rounds) < len(calls := told.get("calls", [])):
        made: list[Chunk] = [
            CallChunk(index, json.dumps(arguments), id=f"call-{len(rounds)}-{index}", name=name)
            for index, (name, arguments) in enumerate(calls[len(rounds)])
        ]
        return [*made, usage, StopChunk("tool_calls")]
    text = str(told.get("say", "Done."))
    if text == "$results":
        text = " ".join(one.content for one in results)
    return [TextChunk(text), usage, StopChunk("stop")]
