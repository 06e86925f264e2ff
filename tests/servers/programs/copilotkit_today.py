"""Today's Python SDK of CopilotKit, 0.1.96: an endpoint with actions, and its agent at a route that speaks AG-UI."""

from ag_ui_langgraph import add_langgraph_fastapi_endpoint
from copilotkit import Action, CopilotKitRemoteEndpoint, LangGraphAGUIAgent
from copilotkit.integrations.fastapi import add_fastapi_endpoint
from copilotkit_actions import explode, name_of, user_id
from fastapi import FastAPI
from graph import drawn
from langgraph.checkpoint.memory import MemorySaver
from serving import serve, until_closed


class Agent(LangGraphAGUIAgent):
    def run(self, input):
        return until_closed(super().run(input))


agent = Agent(name="graph", description="a graph", graph=drawn().compile(checkpointer=MemorySaver()))
endpoint = CopilotKitRemoteEndpoint(
    actions=[
        Action(name="nameOf", handler=name_of, description="The name of a user.", parameters=[user_id]),
        Action(name="explode", handler=explode, description="Always fails."),
    ],
    agents=[agent],
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, agent, "/agent")
add_fastapi_endpoint(app, endpoint, "/remote")

if __name__ == "__main__":
    serve(app)
