"""Events as the values of CopilotKit's output types: dicts with every field, and `__typename`."""

from datetime import UTC, datetime
from typing import Any

from msgspec import json
from pydantic import JsonValue

from rightseat.core.events import CallReturned, CallStarted, RunFailed, RunFinished, TextStarted
from rightseat.core.patching import patched
from rightseat.faces.copilotkit.graphql import failures

Value = dict[str, Any]

SUCCESS: Value = {"__typename": "SuccessMessageStatus", "code": "Success"}
BROKEN: Value = {"__typename": "FailedMessageStatus", "code": "Failed", "reason": "Error streaming message content"}

RESULT_CODES = {"invalid_arguments": "INVALID_ARGUMENTS", "unknown_tool": "ERROR"}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text_message(event: TextStarted) -> Value:
    return {
        "__typename": "TextMessageOutput",
        "id": event.message_id,
        "createdAt": now(),
        "content": [],
        "role": "assistant",
        "parentMessageId": None,
    }


def call_message(event: CallStarted) -> Value:
    return {
        "__typename": "ActionExecutionMessageOutput",
        "id": event.call_id,
        "createdAt": now(),
        "name": event.name,
        "arguments": [],
        "parentMessageId": event.message_id,
        "scope": None,
    }


def result_message(event: CallReturned) -> Value:
    return {
        "__typename": "ResultMessageOutput",
        "id": f"result-{event.call_id}",
        "createdAt": now(),
        "actionExecutionId": event.call_id,
        "actionName": event.name,
        "result": result(event),
        "status": SUCCESS,
    }


def result(event: CallReturned) -> str:
    if event.error is None:
        return event.content
    error = {"code": RESULT_CODES.get(event.error, "HANDLER_ERROR"), "message": event.content}
    return json.encode({"error": error, "result": ""}).decode()


class States:
    """The states of one run as messages: one whenever the state changes, and at the end one that says so."""

    def __init__(self, thread_id: str, run_id: str, agent: str, state: JsonValue) -> None:
        self._thread_id = thread_id
        self._run_id = run_id
        self._agent = agent
        self._state = state
        self._count = 0
        self.node = ""

    def patched(self, patch: list[JsonValue]) -> Value:
        return self.changed(patched(self._state, patch))

    def changed(self, state: JsonValue) -> Value:
        self._state = state
        return self._message(self.node, running=True)

    def last(self) -> list[Value]:
        """Nothing where there never was a state."""
        return [self._message("__end__", running=False)] if self._count else []

    def _message(self, node: str, *, running: bool) -> Value:
        self._count += 1
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
        return failures.failed(event.code, event.message)
    if event.outcome == "cancelled":
        # Not MESSAGE_STREAM_INTERRUPTED: react-core does not look at that, and runs a call that was cut in the middle.
        return failures.failed("cancelled", "The answer was stopped.")
    return {"__typename": "SuccessResponseStatus", "code": "Success"}
