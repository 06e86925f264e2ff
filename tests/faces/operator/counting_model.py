"""A model, as a part of the configuration, that reports its usage: two tools side by side, then a flow, then a text."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from rightseat.core.messages import Result
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, StopChunk, TextChunk, UsageChunk
from rightseat.testing import ScriptedModel

USAGE = UsageChunk(11, 7, cache_read_tokens=2)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def build(options: Options) -> Model:
    return ScriptedModel(respond)


def respond(prompt: Prompt) -> Sequence[Chunk]:
    at = max(place for place, message in enumerate(prompt.messages) if message.role == "user")
    results = [part for one in prompt.messages[at:] for part in one.parts if isinstance(part, Result)]
    if "all in all" not in prompt.messages[at].text or len(results) > 2:
        return [TextChunk("All of it "), TextChunk("is done."), USAGE, StopChunk("stop")]
    if len(results) == 2:
        return [CallChunk(0, '{"question": "five please"}', "call_flow", "steps_five"), USAGE, StopChunk("tool_calls")]
    cities = [
        CallChunk(n, f'{{"city": "{city}"}}', f"call_{n}", "getWeather") for n, city in enumerate(("Ulm", "Oslo"))
    ]
    return [*cities, USAGE, StopChunk("tool_calls")]
