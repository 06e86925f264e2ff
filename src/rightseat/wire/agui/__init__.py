"""AG-UI, the protocol of today's CopilotKit clients and of many agents: our events and asks ↔ its JSON.

versions   what a client of the 0.0.59 era can read
messages   our messages ↔ its messages
inputs     what a client sends → an ask
writing    our events → its events, and their frames as server-sent events
reading    its events → our events
chunks     its short forms, spelt out
"""

from rightseat.wire.agui.inputs import RunInput, read_ask, read_input
from rightseat.wire.agui.messages import read_messages, write_message, write_stored_message
from rightseat.wire.agui.reading import BadEvent, Reader
from rightseat.wire.agui.versions import Version
from rightseat.wire.agui.writing import Writer

__all__ = [
    "BadEvent",
    "Reader",
    "RunInput",
    "Version",
    "Writer",
    "read_ask",
    "read_input",
    "read_messages",
    "write_message",
    "write_stored_message",
]
