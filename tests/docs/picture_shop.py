"""The agent `shop` in the pictures of the console: a tool that looks up an order, and a model that calls it."""

import json
import re
from collections.abc import AsyncIterator

from pydantic import BaseModel

from rightseat.core.messages import Result
from rightseat.core.model import CallChunk, Chunk, Model, Prompt, StopChunk, TextChunk, UsageChunk
from rightseat.toolboxes.functions import tool
from tests.docs.picture_model import PacedModel


@tool(name="get_order", description="Looks up an order.", effect="read")
async def get_order(number: int) -> dict[str, object]:
    return {"number": number, "state": "delivered", "total": 98.0}


tools = [get_order]


class Options(BaseModel):
    pass


def build(options: Options) -> Model:
    return PacedModel(ShopModel())


class ShopModel:
    async def stream(self, prompt: Prompt) -> AsyncIterator[Chunk]:
        results = [part for message in prompt.messages for part in message.parts if isinstance(part, Result)]
        if not results:
            found = re.search(r"\d+", prompt.messages[-1].text)
            yield CallChunk(0, json.dumps({"number": int(found[0]) if found else 0}), id="call_1", name="get_order")
        else:
            order = json.loads(results[-1].content)
            yield TextChunk(f"Your order {order['number']} is {order['state']}. You paid {order['total']:.2f} EUR.")
        yield UsageChunk(180 + 40 * len(results), 24)
        yield StopChunk("stop" if results else "tool_calls")
