"""Data of this face in the `extra` of messages: the instructions of a response, and the items of conversations."""

from rightseat.core.messages import Message
from rightseat.core.types import JsonValue

MARK = "openai_responses"
"""The key in `extra`. Its value is `"instructions"`, or the item that the message was made from."""


def read_mark(message: Message) -> JsonValue:
    return message.extra.get(MARK) if isinstance(message.extra, dict) else None
