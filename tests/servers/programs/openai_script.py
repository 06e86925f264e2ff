"""OpenAI's chat completions, played from a script. What is said depends on a word of the last question."""

import asyncio
import json
import uuid

from serving import note
from starlette.responses import StreamingResponse

CALLS = {"weather": ("get_weather", {"city": "Paris"}), "color": ("setColor", {"color": "green"})}


async def complete(request):
    body = await request.json()
    return StreamingResponse(frames(body["messages"]), media_type="text/event-stream")


async def frames(messages):
    id = f"chatcmpl-{uuid.uuid4().hex[:8]}"
    async for delta, reason in said(messages):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": id, "object": "chat.completion.chunk", "created": 1, "model": "script", "choices": [choice]}
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


async def said(messages):
    last = messages[-1]
    word = next((one["content"] for one in reversed(messages) if one["role"] == "user"), "")
    if last["role"] == "tool":
        yield {"role": "assistant", "content": f"Done: {last['content']}"}, None
    elif word in CALLS:
        name, arguments = CALLS[word]
        function = {"name": name, "arguments": ""}
        call = {"index": 0, "id": f"call-{uuid.uuid4().hex[:8]}", "type": "function", "function": function}
        yield {"role": "assistant", "content": None, "tool_calls": [call]}, None
        yield {"tool_calls": [{"index": 0, "function": {"arguments": json.dumps(arguments)}}]}, None
        yield {}, "tool_calls"
        return
    elif word == "slow":
        try:
            while True:
                yield {"role": "assistant", "content": "tick "}, None
                await asyncio.sleep(0.05)  # the pace of a model that goes on until its client leaves
        finally:
            note("gone")
    else:
        for piece in ("Hello ", "from ", "CrewAI"):
            yield {"role": "assistant", "content": piece}, None
    yield {}, "stop"
