"""The scalars and enums of CopilotKit's GraphQL schema."""

from enum import Enum
from typing import Any, NewType

import strawberry
from strawberry.types.scalar import ScalarDefinition

DateTimeISO = NewType("DateTimeISO", str)
JSONObject = NewType("JSONObject", dict[str, Any])


def read_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("Expected an object.")
    return value


SCALARS: dict[object, ScalarDefinition] = {
    DateTimeISO: strawberry.scalar(
        name="DateTimeISO", description="A date-time string at UTC, such as 2007-12-03T10:15:30Z.", parse_value=str
    ),
    JSONObject: strawberry.scalar(
        name="JSONObject",
        description="A JSON object.",
        specified_by_url="https://datatracker.ietf.org/doc/html/rfc8259",
        parse_value=read_object,
    ),
}

LATER = "This field will be removed in a future version"


@strawberry.enum(description="The role of the message")
class MessageRole(Enum):
    assistant = "assistant"
    developer = "developer"
    system = "system"
    tool = "tool"
    user = "user"


@strawberry.enum(description="The availability of the frontend action")
class ActionInputAvailability(Enum):
    disabled = "disabled"
    enabled = "enabled"
    remote = "remote"


@strawberry.enum(description="The type of Copilot request")
class CopilotRequestType(Enum):
    Chat = "Chat"
    Suggestion = "Suggestion"
    Task = "Task"
    TextareaCompletion = "TextareaCompletion"
    TextareaPopover = "TextareaPopover"


@strawberry.enum(description="Meta event types")
class MetaEventName(Enum):
    CopilotKitLangGraphInterruptEvent = "CopilotKitLangGraphInterruptEvent"
    LangGraphInterruptEvent = "LangGraphInterruptEvent"


@strawberry.enum
class MessageStatusCode(Enum):
    Failed = "Failed"
    Pending = "Pending"
    Success = "Success"


@strawberry.enum
class ResponseStatusCode(Enum):
    Failed = "Failed"
    Pending = "Pending"
    Success = "Success"


@strawberry.enum
class FailedResponseStatusReason(Enum):
    GUARDRAILS_VALIDATION_FAILED = "GUARDRAILS_VALIDATION_FAILED"
    MESSAGE_STREAM_INTERRUPTED = "MESSAGE_STREAM_INTERRUPTED"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"
