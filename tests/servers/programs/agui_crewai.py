"""A CrewAI flow behind its own AG-UI adapter. Its model is a script in this very server."""

import os
import socket

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": "sk-script"}

import uvicorn
from ag_ui_crewai import CopilotKitState, add_crewai_flow_fastapi_endpoint, copilotkit_emit_state, copilotkit_stream
from crewai.flow.flow import Flow, listen, router, start
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
        uvicorn.Server(uvicorn.Config(noting(app), log_level="warning")).run(sockets=[listener])
