"""A model for trying the notes without a key: it goes by keywords, and calls the tools as a real one would."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence

from pydantic import BaseModel, ConfigDict, Field

from rightseat.core.ids import new_id
from rightseat.core.messages import Message, Result
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, StopChunk, TextChunk

HELP = (
    "I look after your notes. Ask me “Which notes do I have?”, “Delete the bread” or “Make it dark”. "
    "I am a small script that goes by keywords. For a real model, change one line in server/rightseat.yaml."
)
TITLES = {"bread": "Buy bread", "mira": "Call Mira", "plants": "Water the plants"}


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    chunk_delay: float = Field(default=0.03, ge=0)
    """How many seconds pass between two words, so that streaming can be seen."""


def build(options: Options) -> Model:
    return DemoModel(options.chunk_delay)


class DemoModel:
    def __init__(self, chunk_delay: float) -> None:
        self._chunk_delay = chunk_delay

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        for chunk in answer(prompt.messages):
            yield chunk
            await asyncio.sleep(self._chunk_delay)


def answer(messages: Sequence[Message]) -> list[Chunk]:
    last = messages[-1]
    results = [part.content for part in last.parts if isinstance(part, Result)]
    if results:
        return say(describe(results[-1]))
    question = last.text.lower()
    title = next((TITLES[word] for word in TITLES if word in question), None)
    if "delete" in question and title:
        return call("delete_note", title=title)
    if theme := re.search("light|dark", question):
        return call("setTheme", theme=theme[0])
    return call("list_notes") if "note" in question else say(HELP)


def describe(result: str) -> str:
    if not result.startswith("["):
        return result
    titles = json.loads(result)
    return "Your notes:\n" + "\n".join(f"• {title}" for title in titles) if titles else "You have no notes."


def say(text: str) -> list[Chunk]:
    return [*(TextChunk(piece) for piece in re.findall(r"\S+\s*", text)), StopChunk("stop")]


def call(name: str, **arguments: str) -> list[Chunk]:
    return [CallChunk(0, "", new_id("call"), name), CallChunk(0, json.dumps(arguments)), StopChunk("tool_calls")]
