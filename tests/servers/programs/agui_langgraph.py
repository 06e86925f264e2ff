"""The graph behind LangGraph's own AG-UI adapter: at `/agent` as it comes, at `/outcome` with interrupts of AG-UI."""

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from graph import drawn
from langgraph.checkpoint.memory import MemorySaver
from serving import serve, until_closed


class Agent(LangGraphAgent):
    def run(self, input):
        return until_closed(super().run(input))


app = FastAPI()
for path, outcome in (("/agent", False), ("/outcome", True)):
    graph = drawn().compile(checkpointer=MemorySaver())
    agent = Agent(name="graph", graph=graph, emit_interrupt_outcome=outcome)
    add_langgraph_fastapi_endpoint(app, agent, path)

if __name__ == "__main__":
    serve(app)
