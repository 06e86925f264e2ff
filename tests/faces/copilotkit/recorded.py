"""What the real clients once sent: see `tests/recordings/copilotkit-graphql/README.md`."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "recordings" / "copilotkit-graphql"
ACCEPT = (
    "application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed"
)
"""What every one of them accepts."""


def request(name: str) -> dict[str, Any]:
    """The body of a recorded request: `query`, `variables` and `operationName`. It is yours to change."""
    return copy.deepcopy(_request(name))


def headers(name: str) -> dict[str, str]:
    head = _bytes(name, "request").partition(b"\r\n\r\n")[0].decode()
    return {key.lower(): value for key, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])}


def payloads(name: str) -> list[dict[str, Any]]:
    """The parts of a recorded answer."""
    body = _bytes(name, "response").partition(b"\r\n\r\n")[2]
    pieces = body.split(b"\r\n---")[1:-1]
    return [json.loads(piece.partition(b"\r\n\r\n")[2]) for piece in pieces]


def document(name: str = "plain-chat") -> str:
    query: str = _request(name)["query"]
    return query


@cache
def _request(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(_bytes(name, "request").partition(b"\r\n\r\n")[2])
    return body


def _bytes(name: str, what: str) -> bytes:
    return (FOLDER / f"{name}.{what}.txt").read_bytes()
