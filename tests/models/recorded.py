"""Recorded answers, played by a server on a real socket."""

import re
from pathlib import Path

from tests.tcp import Script, Visit, chunked

RECORDINGS = Path(__file__).parent.parent / "recordings"
OPENAI = RECORDINGS / "openai"
UPSTREAM = RECORDINGS / "copilotkit-graphql" / "upstream-openai"


def answer(path: Path) -> bytes:
    """A recording as it was on the wire: each event a chunk of its own, unless the head says how long the body is."""
    head, body = re.split(rb"\r?\n\r?\n", path.read_bytes(), maxsplit=1)
    head = b"\r\n".join(head.splitlines()) + b"\r\n\r\n"
    if b"content-length:" in head.lower():
        return head + body
    events = [event for event in re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", body) if event]
    return head + chunked(*events)


def recording(name: str) -> bytes:
    return answer(OPENAI / f"{name}.response.txt")


def events(*data: str, status: str = "200 OK", end: bytes = b"0\r\n\r\n") -> bytes:
    """An answer with these as the data of its events."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    return head + chunked(*(f"data: {one}\n\n".encode() for one in data)).removesuffix(b"0\r\n\r\n") + end


def once(whole: bytes) -> Script:
    """One answer a connection, which is then closed."""

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(whole)

    return script


def refusal(status: str, body: str, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body.encode())}\r\n\r\n"
    return (head + body).encode()


def played(provider: str, name: str) -> bytes:
    return answer(RECORDINGS / provider / f"{name}.response.txt")
