"""A model provider that records every call and never exceeds the bound that it is sent.

Some calls fail before their first token, some break off, and some report no usage.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random

from rightseat.core.errors import ModelUnreachable
from rightseat.core.messages import user
from rightseat.core.model import Chunk, Prompt, StopChunk, TextChunk, UsageChunk, set_model_key
from rightseat.limits.estimate import count_tokens, measure_prompt, weigh_text
from tests.simulation.clock import pass_time

WORD = "twelve bytes"
MAX_TOKENS = 40
PROMPT = Prompt((user("a question of some length, " * 8),))
RESERVED_INPUT = measure_prompt(PROMPT).tokens
ESTIMATED_INPUT = measure_prompt(PROMPT).tokens
RESERVED_TOKENS = RESERVED_INPUT + MAX_TOKENS


@dataclass(slots=True)
class ProviderCall:
    """One call. `possible` are the totals for which it may be settled, once.

    `before` is what was counted for a reservation of the call that another process settled before the call was made.
    """

    possible: set[int] = field(default_factory=lambda: {0, ESTIMATED_INPUT})
    words: int = 0
    before: int = 0

    def is_settled_by(self, tokens: int) -> bool:
        own = tokens - self.before
        return own in self.possible and (own > 0 or not self.words)


class Provider:
    """All calls, by the name that the usage report has for them: each call is a model of its own."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.calls: dict[str, ProviderCall] = {}

    def call(self) -> "ProviderModel":
        name = f"call-{len(self.calls)}"
        self.calls[name] = ProviderCall()
        return ProviderModel(self.random, self.calls[name], name)


class ProviderModel:
    def __init__(self, random: Random, record: ProviderCall, name: str) -> None:
        self._random = random
        self.record = record
        set_model_key(self, name)

    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        assert prompt.parameters.max_tokens == MAX_TOKENS, "the bound is not sent"
        random, record = self._random, self.record
        await pass_time(random, 0.01, 0.6)
        if random.random() < 0.1:
            raise ModelUnreachable("down")
        for _ in range(random.randint(1, 3)):
            record.words += 1
            record.possible.add(ESTIMATED_INPUT + count_tokens(weigh_text(WORD) * record.words))
            yield TextChunk(WORD)
            await pass_time(random, 0.01, 0.8)
            if random.random() < 0.05:
                raise ModelUnreachable("broke off")
        if random.random() < 0.7:
            usage = UsageChunk(random.randint(10, RESERVED_INPUT), random.randint(1, MAX_TOKENS))
            record.possible.add(usage.input_tokens + usage.output_tokens)
            yield usage
        yield StopChunk("stop")
