"""What the client expects about a thread, a memory or a run that has changed."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rightseat.core.threads import Summary
from rightseat.faces.copilotkit.current.memories import describe_memory
from rightseat.faces.copilotkit.current.threads import describe_thread
from rightseat.faces.copilotkit.live.topics import Channel
from rightseat.operations.changes import Change
from rightseat.operations.memories import MemoryRow

AgentNames = Mapping[str, str]
"""The clients' agent names → the configured names."""


class LiveEvent(NamedTuple):
    channel: Channel
    event: str
    payload: Mapping[str, Any]


def thread_events(thread: Summary, agents: AgentNames) -> Iterator[LiveEvent]:
    """One for each name that clients have for the agent: a client drops threads of names that it does not list."""
    operation = "archived" if thread.archived else "updated"
    for name in client_names(thread.agent, agents):
        about = describe_change(operation, thread.id, thread.updated_at)
        yield LiveEvent("threads", "thread_metadata", {**about, "thread": describe_thread(thread, name)})


def deleted_thread_event(id: str, time: str) -> LiveEvent:
    return LiveEvent("threads", "thread_metadata", {**describe_change("deleted", id, time), "deleted": {"id": id}})


def run_events(change: Change, agents: AgentNames) -> Iterator[LiveEvent]:
    about = {"threadId": change.id, "runId": change.run, "eventType": change.event}
    for name in client_names(change.agent, agents):
        yield LiveEvent("threads", "thread_run_activity", {**about, "agentId": name})


def memory_event(row: MemoryRow) -> LiveEvent:
    about = describe_memory_change("updated", row.id, row.updated_at)
    return LiveEvent("memories", "memory_metadata", {**about, "memory": describe_memory(row)})


def removed_memory_event(id: str, time: str) -> LiveEvent:
    about = describe_memory_change("invalidated", id, time)
    return LiveEvent("memories", "memory_metadata", {**about, "invalidated": {"id": id}})


def client_names(agent: str, agents: AgentNames) -> list[str]:
    return [name for name, own in agents.items() if own == agent] or [agent]


def describe_change(operation: str, id: str, time: str) -> dict[str, Any]:
    return {"operation": operation, "threadId": id, "userId": "", "organizationId": "", "occurredAt": time}


def describe_memory_change(operation: str, id: str, time: str) -> dict[str, Any]:
    return {"operation": operation, "memoryId": id, "organizationId": "", "projectId": "", "occurredAt": time}
