"""A pydantic-ai agent behind its own AG-UI adapter. What it says depends on a word of the last question."""

import asyncio
import json

from ag_ui.core import EventType, StateSnapshotEvent
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, RunContext, ToolReturn
from pydantic_ai.messages import ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.ui import StateDeps
from pydantic_ai.ui.ag_ui import AGUIAdapter
from serving import note, serve
from starlette.applications import Starlette
from starlette.routing import Route


class State(BaseModel):
    count: int = 0


async def answer(messages, info):
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        yield f"Done: {last.model_response_str()}"
        return
    prompts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    word = str(prompts[-1].content)
    calls = {
        "weather": ("get_weather", {"city": "Paris"}),
        "color": ("setColor", {"color": "green"}),
        "count": ("increase", {}),
        "ask": ("delete_file", {"path": "a.txt"}),
    }
    if word in calls:
        name, arguments = calls[word]
        yield {0: DeltaToolCall(name=name, json_args="", tool_call_id=f"call-{len(messages)}")}
        yield {0: DeltaToolCall(json_args=json.dumps(arguments))}
    elif word == "fail":
        raise RuntimeError("kaboom in /srv/secret.py")
    elif word == "slow":
        try:
            while True:
                yield "tick "
                await asyncio.sleep(0.05)  # the pace of a model that goes on until its client leaves
        finally:
            note("gone")
    else:
        for piece in ("Hello ", "from ", "pydantic-ai"):
            yield piece


agent = Agent(
    FunctionModel(stream_function=answer), deps_type=StateDeps[State], output_type=[str, DeferredToolRequests]
)


@agent.tool_plain
def get_weather(city: str) -> str:
    return f"sunny in {city}"


@agent.tool
def increase(ctx: RunContext[StateDeps[State]]) -> ToolReturn:
    ctx.deps.state.count += 1
    event = StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot=ctx.deps.state.model_dump())
    return ToolReturn(return_value=str(ctx.deps.state.count), metadata=[event])


@agent.tool_plain(requires_approval=True)
def delete_file(path: str) -> str:
    return f"deleted {path}"


async def run(request):
    return await AGUIAdapter.dispatch_request(request, agent=agent, deps=StateDeps(State()))


if __name__ == "__main__":
    serve(Starlette(routes=[Route("/agent", run, methods=["POST"])]))
