"""GraphQL's incremental delivery as multipart/mixed, in the form that CopilotKit's clients read.

A part is followed at once by the boundary of the next: the clients take a part only when they see that.
"""

CONTENT_TYPE = 'multipart/mixed; boundary="-"'
PREAMBLE = b"\r\n---"
END = b"--\r\n"


def part(payload: bytes) -> bytes:
    head = b"\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b\r\n---"
    return head % (len(payload), payload)
