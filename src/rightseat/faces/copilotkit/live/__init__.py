"""Lists that follow changes: the WebSocket of CopilotKit's `useThreads` and `useMemories`, and of open chats.

frames    Phoenix frames ↔ text
topics    the names of channels, and the tokens that open them
payloads  threads, memories and runs → what the client expects
user      the sockets of one user: what changed is read once and sent to all of them
socket    one WebSocket: joins, heartbeats, its bounds
service   tokens and sockets of a face
"""

from rightseat.faces.copilotkit.live.service import LiveLists

__all__ = ["LiveLists"]
