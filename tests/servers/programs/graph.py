"""A LangGraph graph. What it does depends on a word of the last question; its model is a script."""

import asyncio
import uuid
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from serving import note


class State(MessagesState):
    count: int
    name: str
    story: str
    copilotkit: Any


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


CALLS = {
    "weather": ("get_weather", ('{"city": "Paris"}',)),
    "color": ("setColor", ('{"color": "green"}',)),
    "story": ("write_story", ('{"text": "Once', " upon", ' a time"}')),
}
PREDICTED = [{"state_key": "story", "tool": "write_story", "tool_argument": "text"}]
"""What the call writes is part of the state before the call is over, in the words of both of their makers."""


def last_question(messages):
    content = next((one.content for one in reversed(messages) if isinstance(one, HumanMessage)), "")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class Script(BaseChatModel):
    @property
    def _llm_type(self):
        return "script"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        raise NotImplementedError

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        raise NotImplementedError("asked for a whole answer, not for a stream")

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        id = f"run-{uuid.uuid4().hex[:8]}"
        async for chunk in self._said(messages, id):
            if run_manager:
                await run_manager.on_llm_new_token(chunk.content, chunk=ChatGenerationChunk(message=chunk))
            yield ChatGenerationChunk(message=chunk)

    async def _said(self, messages, id):
        last, word = messages[-1], last_question(messages)
        if isinstance(last, ToolMessage):
            yield AIMessageChunk(content="Done: ", id=id)
            yield AIMessageChunk(content=str(last.content), id=id)
        elif word in CALLS:
            name, pieces = CALLS[word]
            call = {
                "name": name,
                "args": "",
                "id": f"call-{uuid.uuid4().hex[:8]}",
                "index": 0,
                "type": "tool_call_chunk",
            }
            yield AIMessageChunk(content="", id=id, tool_call_chunks=[call])
            for piece in pieces:
                rest = {"name": None, "args": piece, "id": None, "index": 0, "type": "tool_call_chunk"}
                yield AIMessageChunk(content="", id=id, tool_call_chunks=[rest])
                if word == "story":
                    await asyncio.sleep(0.3)  # models take a while; what comes at once is shown at once
        elif word == "slow":
            try:
                while True:
                    yield AIMessageChunk(content="tick ", id=id)
                    await asyncio.sleep(0.05)  # the pace of a model that goes on until its client leaves
            finally:
                note("gone")
        else:
            for piece in ("Hello ", "from ", "LangGraph"):
                yield AIMessageChunk(content=piece, id=id)


async def chat(state: State, config):
    if last_question(state["messages"]) == "fail":
        raise RuntimeError("kaboom in /srv/secret.py")
    if last_question(state["messages"]) == "story":
        told = {"predict_state": PREDICTED, "copilotkit:emit-intermediate-state": PREDICTED}
        config = {**config, "metadata": {**config.get("metadata", {}), **told}}
    whole = None
    async for chunk in Script().astream(state["messages"], config):
        whole = chunk if whole is None else whole + chunk
    answer = AIMessage(content=whole.content, tool_calls=whole.tool_calls, id=whole.id)
    return {"messages": [answer], "count": (state.get("count") or 0) + 1}


async def keep(state: State):
    call = state["messages"][-1].tool_calls[0]
    return {"story": call["args"]["text"], "messages": [ToolMessage("kept", tool_call_id=call["id"])]}


async def ask(state: State):
    name = interrupt("What is your name?")
    return {"messages": [AIMessage(content=f"Hello {name}")], "name": str(name)}


def begin(state: State):
    return "ask" if last_question(state["messages"]) == "ask" else "chat"


def go_on(state: State):
    calls = getattr(state["messages"][-1], "tool_calls", [])
    return {"get_weather": "tools", "write_story": "keep"}.get(calls[0]["name"], END) if calls else END


def drawn():
    graph = StateGraph(State)
    graph.add_node("chat", chat)
    graph.add_node("ask", ask)
    graph.add_node("keep", keep)
    graph.add_node("tools", ToolNode([get_weather]))
    graph.add_conditional_edges(START, begin, ["ask", "chat"])
    graph.add_conditional_edges("chat", go_on, ["keep", "tools", END])
    graph.add_edge("tools", "chat")
    graph.add_edge("keep", "chat")
    graph.add_edge("ask", END)
    return graph


served = drawn().compile()
"""For a server that keeps threads itself."""
