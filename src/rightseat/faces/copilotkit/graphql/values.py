"""Converts events to values of CopilotKit's GraphQL output types: dicts with every field and `__typename`."""

from datetime import UTC, datetime
from typing import Any

from msgspec import json
from pydantic import JsonValue

from rightseat.core.events import RunFailed, RunFinished, TextStarted, ToolCallReturned, ToolCallStarted
from rightseat.core.json_patch import apply_patch
from rightseat.faces.copilotkit.graphql import failures

Value = dict[str, Any]

SUCCESS: Value = {"__typename": "SuccessMessageStatus", "code": "Success"}
BROKEN: Value = {"__typename": "FailedMessageStatus", "code": "Failed", "reason": "Error streaming message content"}

RESULT_CODES = {"invalid_arguments": "INVALID_ARGUMENTS", "unknown_tool": "ERROR"}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_response(thread_id: str, echo: Value | None = None) -> Value:
    """`echo` are fields that are returned to the client unchanged: `runId` and `extensions`."""
    return {
        "__typename": "CopilotResponse",
        "threadId": thread_id,
        "runId": None,
        "extensions": None,
        "messages": [],
        "metaEvents": [],
        **(echo or {}),
    }


def text_message(event: TextStarted) -> Value:
    return {
        "__typename": "TextMessageOutput",
        "id": event.message_id,
        "createdAt": now(),
        "content": [],
        "role": "assistant",
        "parentMessageId": None,
    }


def call_message(event: ToolCallStarted) -> Value:
    return {
        "__typename": "ActionExecutionMessageOutput",
        "id": event.call_id,
        "createdAt": now(),
        "name": event.name,
        "arguments": [],
        "parentMessageId": event.message_id,
        "scope": None,
    }


def result_message(event: ToolCallReturned) -> Value:
    return {
        "__typename": "ResultMessageOutput",
        "id": f"result-{event.call_id}",
        "createdAt": now(),
        "actionExecutionId": event.call_id,
        "actionName": event.name,
        "result": write_result(event),
        "status": SUCCESS,
    }


def write_result(event: ToolCallReturned) -> str:
    if event.error is None:
        return event.content
    error = {"code": RESULT_CODES.get(event.error, "HANDLER_ERROR"), "message": event.content}
    return json.encode({"error": error, "result": ""}).decode()


class States:
    """Converts the states of one run to messages: one for each change, and a final one with `running` false.

    A state that comes after the end of a step is held back until the next step starts or the run ends.
    """

    def __init__(self, thread_id: str, run_id: str, agent: str, state: JsonValue) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._agent = agent
        self._own = agent
        self._state = state
        self._count = 0
        self._node: str | None = None
        self._steps = False
        self._is_shown = False
        self._has_unsent = False

    def apply_patch(self, patch: list[JsonValue]) -> list[Value]:
        return self.replace_state(apply_patch(self._state, patch))

    def replace_state(self, state: JsonValue) -> list[Value]:
        self._state = state
        if self._steps and self._node is None:
            self._has_unsent = True
            return []
        return [self._message(self._node or "", running=True)]

    def predict_state(self, keys: dict[str, JsonValue]) -> list[Value]:
        """Return a message with the predicted state, if it differs from the current one."""
        known = self._state if isinstance(self._state, dict) else {}
        if not keys or all(known.get(key) == value for key, value in keys.items()):
            return []
        return self.replace_state({**known, **keys})

    def enter_step(self, node: str) -> list[Value]:
        self._node, self._steps = node, True
        return [self._message(node, running=True)] if self._has_unsent else []

    def leave_step(self, node: str) -> None:
        if self._node == node:
            self._node = None

    def hand_over(self, name: str, value: JsonValue) -> list[Value]:
        """Handle the start or end of a handoff: the next states belong to another agent."""
        if name not in ("agent.entered", "agent.left"):
            return []
        messages = self.final()
        self._agent = str(value) if name == "agent.entered" else self._own
        self._state, self._node, self._steps, self._is_shown, self._has_unsent = None, None, False, False, False
        return messages

    def final(self) -> list[Value]:
        """Return the final message, or none if the run had no state."""
        return [self._message("__end__", running=False)] if self._is_shown or self._has_unsent else []

    def _message(self, node: str, *, running: bool) -> Value:
        self._count += 1
        self._is_shown, self._has_unsent = True, False
        return {
            "__typename": "AgentStateMessageOutput",
            "id": f"state-{self._run_id}-{self._count}",
            "createdAt": now(),
            "threadId": self._thread_id,
            "runId": self._run_id,
            "agentName": self._agent,
            "nodeName": node,
            "state": json.encode(self._state).decode(),
            "running": running,
            "active": running,
            "role": "assistant",
            "status": SUCCESS,
        }


def response_status(event: RunFinished | RunFailed) -> Value:
    if isinstance(event, RunFailed):
        return failures.write_failed_status(event.code, event.message)
    if event.outcome == "cancelled":
        # Not MESSAGE_STREAM_INTERRUPTED: react-core ignores that code and would run an incomplete tool call.
        return failures.write_failed_status("cancelled", event.reason or "The answer was stopped.")
    return {"__typename": "SuccessResponseStatus", "code": "Success"}
