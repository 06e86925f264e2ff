"""Events as the values of CopilotKit's output types: dicts with every field, and `__typename`."""

from datetime import UTC, datetime
from typing import Any

from msgspec import json
from pydantic import JsonValue

from rightseat.core.events import CallReturned, CallStarted, RunFailed, RunFinished, TextStarted
from rightseat.faces.copilotkit.graphql import failures

Value = dict[str, Any]

SUCCESS: Value = {"__typename": "SuccessMessageStatus", "code": "Success"}
BROKEN: Value = {"__typename": "FailedMessageStatus", "code": "Failed", "reason": "Error streaming message content"}

RESULT_CODES = {"invalid_arguments": "INVALID_ARGUMENTS", "tool_failed": "HANDLER_ERROR"}


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
    error = {"code": RESULT_CODES.get(event.error, "ERROR"), "message": event.content}
    return json.encode({"error": error, "result": ""}).decode()


def state_message(
    number: int, ids: tuple[str, str], agent: str, node: str, state: JsonValue, *, running: bool
) -> Value:
    """`ids` are those of thread and run."""
    thread_id, run_id = ids
    return {
        "__typename": "AgentStateMessageOutput",
        "id": f"state-{run_id}-{number}",
        "createdAt": now(),
        "threadId": thread_id,
        "runId": run_id,
        "agentName": agent,
        "nodeName": node,
        "state": json.encode(state).decode(),
        "running": running,
        "active": running,
        "role": "assistant",
        "status": SUCCESS,
    }


def response_status(event: RunFinished | RunFailed) -> Value:
    if isinstance(event, RunFailed):
        return failures.failed(event.code, event.message)
    if event.outcome == "cancelled":
        details = {"description": "The answer was stopped."}
        stopped = {"code": "Failed", "reason": "MESSAGE_STREAM_INTERRUPTED", "details": details}
        return {"__typename": "FailedResponseStatus", **stopped}
    return {"__typename": "SuccessResponseStatus", "code": "Success"}
