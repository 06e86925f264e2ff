"""Converts between rightseat's events and asks and AG-UI, the protocol of current CopilotKit clients and many agents.

versions   the differences between AG-UI 0.0.59 and 1.0
messages   rightseat messages ↔ AG-UI messages
inputs     a client's run input → an ask
request    an ask → the run input of an AG-UI agent
encoder    rightseat events → AG-UI events, framed as server-sent events
decoder    AG-UI events → rightseat events
chunks     AG-UI `…_CHUNK` events → start, content and end events
snapshots  messages that an agent sent only in a snapshot → rightseat events
"""

from rightseat.wire.agui.decoder import AguiDecoder, BadEvent
from rightseat.wire.agui.encoder import END_SEQ, AguiEncoder
from rightseat.wire.agui.inputs import RunInput, read_ask, read_input
from rightseat.wire.agui.messages import read_messages, write_message, write_stored_message
from rightseat.wire.agui.versions import Version

__all__ = [
    "END_SEQ",
    "AguiDecoder",
    "AguiEncoder",
    "BadEvent",
    "RunInput",
    "Version",
    "read_ask",
    "read_input",
    "read_messages",
    "write_message",
    "write_stored_message",
]
