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
    """The states of one run as messages: one whenever the state changes, and at the end one that says so.

    A state that comes behind all steps is the one that the run ends with, and is shown as that.
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
        self._is_held = False

    def patched(self, patch: list[JsonValue]) -> list[Value]:
        return self.changed(patched(self._state, patch))

    def changed(self, state: JsonValue) -> list[Value]:
        self._state = state
        if self._steps and self._node is None:
            self._is_held = True
            return []
        return [self._message(self._node or "", running=True)]

    def predicted(self, keys: dict[str, JsonValue]) -> list[Value]:
        """A state that the agent will reach, as far as its model has written it."""
        known = self._state if isinstance(self._state, dict) else {}
        if not keys or all(known.get(key) == value for key, value in keys.items()):
            return []
        return self.changed({**known, **keys})

    def entered(self, node: str) -> list[Value]:
        self._node, self._steps = node, True
        return [self._message(node, running=True)] if self._is_held else []

    def left(self, node: str) -> None:
        if self._node == node:
            self._node = None

    def handed(self, name: str, value: JsonValue) -> list[Value]:
        """Another agent speaks from here on, or no longer does. Its states are its own."""
        if name not in ("agent.entered", "agent.left"):
            return []
        said = self.last()
        self._agent = str(value) if name == "agent.entered" else self._own
        self._state, self._node, self._steps, self._is_shown, self._is_held = None, None, False, False, False
        return said

    def last(self) -> list[Value]:
        """Nothing where there never was a state."""
        return [self._message("__end__", running=False)] if self._is_shown or self._is_held else []

    def _message(self, node: str, *, running: bool) -> Value:
        self._count += 1
        self._is_shown, self._is_held = True, False
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
