"""A CrewAI flow behind its own AG-UI adapter. Its model is a script in this very server."""

import os
import socket
from uuid import uuid4

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": "sk-script"}

import uvicorn
from ag_ui_crewai import (
    CopilotKitState,
    add_crewai_flow_fastapi_endpoint,
    agui_feedback_provider,
    copilotkit_emit_state,
    copilotkit_stream,
)
from crewai.flow.flow import Flow, listen, router, start
from crewai.flow.human_feedback import human_feedback
from fastapi import FastAPI
from litellm import acompletion
from openai_script import complete
from serving import noting

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


class State(CopilotKitState):
    count: int = 0


class Chat(Flow[State]):
    @start()
    async def begin(self):
        pass

    @router(begin)
    async def choose(self):
        return "wondering" if self.state.messages[-1].get("content") == "ask" else "again"

    @listen("wondering")
    @human_feedback(message="What is your name?", provider=agui_feedback_provider)
    async def wonder(self):
        return "a name"

    @listen(wonder)
    async def greet(self, answer):
        self.state.messages.append({"role": "assistant", "content": f"Hello {answer.feedback}", "id": str(uuid4())})

    @listen("again")
    async def chat(self):
        if self.state.messages[-1].get("content") == "fail":
            raise RuntimeError("kaboom in /srv/secret.py")
        answer = await copilotkit_stream(
            await acompletion(
                model="openai/script",
                api_base=BASE,
                messages=self.state.messages,
                tools=[*self.state.copilotkit.actions, WEATHER],
                stream=True,
            )
        )
        self.state.count += 1
        self.state.messages.append(answer.choices[0].message.model_dump(exclude_none=True))

    @router(chat)
    async def go_on(self):
        await copilotkit_emit_state(self.state)
        calls = self.state.messages[-1].get("tool_calls") or []
        mine = [call for call in calls if call["function"]["name"] == "get_weather"]
        for call in mine:
            self.state.messages.append({"role": "tool", "tool_call_id": call["id"], "content": "sunny in Paris"})
        return "again" if mine else "over"

    @listen("over")
    async def finish(self):
        pass


app = FastAPI()
app.add_route("/v1/chat/completions", complete, methods=["POST"])
add_crewai_flow_fastapi_endpoint(app, Chat(), "/agent")

if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        BASE = f"http://127.0.0.1:{port}/v1"
        print(port, flush=True)
        os.dup2(2, 1)  # what it says of itself goes to the log: nobody reads the pipe, and who writes into it waits
        uvicorn.Server(uvicorn.Config(noting(app), log_level="warning")).run(sockets=[listener])
