"""Encodes GraphQL incremental delivery as multipart/mixed for CopilotKit clients.

Each part ends with the boundary of the next, because clients process a part only when they receive that boundary.
"""

CONTENT_TYPE = 'multipart/mixed; boundary="-"'
PREAMBLE = b"\r\n---"
END = b"--\r\n"
IGNORED_LINE = b"\r\n"
"""May be sent before the preamble: clients ignore all text before the first boundary."""


def part(payload: bytes) -> bytes:
    head = b"\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b\r\n---"
    return head % (len(payload), payload)
