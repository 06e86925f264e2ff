"""A function that assigns tasks to other agents of the user's Workspace, if the user enabled it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rightseat.core.ask import ToolOffer
from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.session import Session
from rightseat.faces.openbb.tools.functions import WorkspaceFunction, schema

OPTION = "agent-orchestration"
FUNCTION = "assign_tasks_to_agents"


def functions(session: Session) -> Sequence[WorkspaceFunction]:
    """Not for a task from another agent: two agents could delegate to each other forever."""
    agents = read_agents(session.query.workspace_state)
    if session.is_legacy or not agents or not session.query.is_on(OPTION) or is_task(session.query.raw):
        return []
    return [assign_tasks_function(agents)]


def read_agents(state: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Agents by id."""
    agents = state.get("agents")
    found = [agent for agent in agents if isinstance(agent, dict)] if isinstance(agents, list) else []
    return {agent["id"]: agent for agent in found if isinstance(agent.get("id"), str)}


def is_task(body: Mapping[str, Any]) -> bool:
    """Whether the last request in the conversation came from another agent."""
    messages = body.get("messages")
    objects = [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    requests = [message for message in objects if message.get("role") == "human" or is_from_openbb(message)]
    return bool(requests) and requests[-1].get("role") == "ai"


def is_from_openbb(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "ai" and message.get("agent_id") == "openbb-copilot"


def assign_tasks_function(agents: Mapping[str, Mapping[str, Any]]) -> WorkspaceFunction:
    def write(arguments: Mapping[str, Any]) -> dict[str, Any]:
        tasks = arguments.get("task_requests")
        if not isinstance(tasks, list) or not tasks:
            raise BadRequest("task_requests must be a list of at least one task.")
        return {"task_requests": [write_task(str(number), task, agents) for number, task in enumerate(tasks, 1)]}

    listing = "\n".join(
        f"- {id}: {agent.get('name')}. {agent.get('description') or ''}"[:300] for id, agent in agents.items()
    )
    task = schema(
        {
            "description": {"type": "string", "description": "All that the agent must know to do it."},
            "assigned_agent_id": {"type": "string", "enum": list(agents)},
        },
        ("description", "assigned_agent_id"),
    )
    offer = ToolOffer(
        FUNCTION,
        "Have other agents of the user's do parts of the work. They answer the user themselves. "
        f"The agents are:\n{listing}",
        schema({"task_requests": {"type": "array", "items": task}}, ("task_requests",)),
    )
    return WorkspaceFunction(offer, write, lambda arguments: "Giving work to other agents")


def write_task(number: str, task: Any, agents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    agent = agents.get(str(task.get("assigned_agent_id"))) if isinstance(task, dict) else None
    if agent is None:
        raise BadRequest(f"Task {number} needs an assigned_agent_id, one of: {', '.join(agents)}.")
    if not isinstance(task.get("description"), str) or not task["description"].strip():
        raise BadRequest(f"Task {number} needs a description.")
    return {
        "id": number,
        "description": task["description"],
        "assigned_holder_url": agent.get("holder_url") or "",
        "assigned_agent_id": agent["id"],
    }
