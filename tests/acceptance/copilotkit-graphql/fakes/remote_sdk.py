"""A CopilotKit remote endpoint on the real Python SDK: one action and three LangGraph agents with fake models.

Usage: remote_sdk.py PORT; the endpoint's base URL is http://127.0.0.1:PORT/copilotkit_remote
"""

import asyncio
import sys
import uuid
from contextlib import suppress
from typing import Any

import uvicorn
from copilotkit import Action, CopilotKitRemoteEndpoint, LangGraphAgent
from copilotkit.integrations.fastapi import add_fastapi_endpoint
from fastapi import FastAPI
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import MemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(MessagesState):
    count: int
    name: str
    copilotkit: Any


GOES_ON = asyncio.Event()
"""Set by `POST /go-on`, once the client has shown the first token."""
GOES_ON_AFTER_S = 20


class HeldModel(GenericFakeChatModel):
    """Holds all tokens after its first one: a client that gets all in one read shows no growing text."""

    async def _astream(self, *arguments, **options):
        GOES_ON.clear()
        is_held = True
        async for chunk in super()._astream(*arguments, **options):
            yield chunk
            if is_held:
                is_held = False
                with suppress(TimeoutError):
                    await asyncio.wait_for(GOES_ON.wait(), GOES_ON_AFTER_S)


async def fetch_name(userId: str):
    return {"name": "User_" + userId}


async def chat(state: State, config):
    answer = AIMessage(content="Agent says hi from LangGraph", id="run-" + uuid.uuid4().hex[:8])
    is_held = "word by word" in state["messages"][-1].content
    model = (HeldModel if is_held else GenericFakeChatModel)(messages=iter([answer]))
    return {"messages": [await model.ainvoke(state["messages"], config)], "count": (state.get("count") or 0) + 1}


async def ask(state: State, config):
    name = interrupt("What is your name?")
    return {"messages": [AIMessage(content=f"Hello {name}")], "name": name}


async def boom(state: State, config):
    raise ValueError("agent failed on purpose")


def agent(name: str, description: str, node: str, run) -> LangGraphAgent:
    graph = StateGraph(State)
    graph.add_node(node, run)
    graph.add_edge(START, node)
    graph.add_edge(node, END)
    return LangGraphAgent(name=name, description=description, graph=graph.compile(checkpointer=MemorySaver()))


user_id = {"name": "userId", "type": "string", "description": "The ID of the user", "required": True}
endpoint = CopilotKitRemoteEndpoint(
    actions=[
        Action(
            name="fetchNameForUserId",
            handler=fetch_name,
            description="Fetches user name for a given ID.",
            parameters=[user_id],
        )
    ],
    agents=[
        agent("demo_agent", "demo", "chat_node", chat),
        agent("interrupt_agent", "asks", "ask_node", ask),
        agent("failing_agent", "fails", "boom_node", boom),
    ],
)
app = FastAPI()
add_fastapi_endpoint(app, endpoint, "/copilotkit_remote")


@app.post("/go-on")
async def go_on():
    GOES_ON.set()


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
