"""The graph behind a remote endpoint of CopilotKit's Python SDK, 0.1.63: an action, and an agent in JSON lines."""

from copilotkit import Action, CopilotKitRemoteEndpoint, LangGraphAgent
from copilotkit.integrations.fastapi import add_fastapi_endpoint
from copilotkit_actions import explode, name_of, user_id
from fastapi import FastAPI
from graph import drawn
from langgraph.checkpoint.memory import MemorySaver
from serving import serve

endpoint = CopilotKitRemoteEndpoint(
    actions=[
        Action(name="nameOf", handler=name_of, description="The name of a user.", parameters=[user_id]),
        Action(name="explode", handler=explode, description="Always fails."),
    ],
    agents=[LangGraphAgent(name="graph", description="a graph", graph=drawn().compile(checkpointer=MemorySaver()))],
)
app = FastAPI()
add_fastapi_endpoint(app, endpoint, "/remote")

if __name__ == "__main__":
    serve(app)
