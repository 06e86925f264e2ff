"""A model that does what the question tells it: `type: tests.evals.directed_model`.

The question is JSON: `calls` are the rounds of calls before the answer `say`; `fail` is the text of an error. One with
`waits` creates the file `GATE.NAME` and is answered once the file `GATE` exists.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from rightseat.core.errors import ModelError
from rightseat.core.messages import Result
from rightseat.core.model import CallChunk, Chunk, Prompt, StopChunk, TextChunk, UsageChunk
from tests.conditions import until

PROMPTS: list[Prompt] = []
"""Those of all models, since a test cleared it."""


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    max_tokens: int = 20
    gate: Path | None = None


def build(options: Options) -> "DirectedModel":
    return DirectedModel(options)


class DirectedModel:
    def __init__(self, options: Options) -> None:
        self.options = options

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        PROMPTS.append(prompt)
        told = {} if is_judge(prompt) else read_question(prompt)
        if (gate := self.options.gate) is not None and told.get("waits"):
            gate.with_name(f"{gate.name}.{told['name']}").touch()
            await until(gate.exists)
        for chunk in respond(prompt):
            yield chunk


def is_judge(prompt: Prompt) -> bool:
    return "verdict" in json.dumps(prompt.parameters.response_schema)


def find_question(prompt: Prompt) -> int:
    return max(place for place, message in enumerate(prompt.messages) if message.role == "user")


def read_question(prompt: Prompt) -> dict[str, Any]:
    """Also if the prompt of a flow quotes it."""
    text = prompt.messages[find_question(prompt)].text
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index('{"say"'))[0]
    return found


def respond(prompt: Prompt) -> list[Chunk]:
    if is_judge(prompt):
        return [TextChunk('{"reason": "r", "verdict": "pass"}'), UsageChunk(100, 20), StopChunk("stop")]
    told, last = read_question(prompt), find_question(prompt)
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
