"""Messages of a conversation and their parts: the names of `rightseat.core.messages`."""

from rightseat.core.messages import (
    Call,
    File,
    Image,
    Message,
    Part,
    Result,
    Role,
    Text,
    assistant,
    system,
    user,
)

__all__ = [
    "Call",
    "File",
    "Image",
    "Message",
    "Part",
    "Result",
    "Role",
    "Text",
    "assistant",
    "system",
    "user",
]
