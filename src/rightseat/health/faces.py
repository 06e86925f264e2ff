"""Each face answers the handshake of its clients, inside this process."""

import json
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from starlette.types import ASGIApp

from rightseat.config import ConfiguredPart
from rightseat.health.asgi import AsgiResponse, send_request
from rightseat.health.context import CheckContext
from rightseat.health.finding import Check, CheckOutcome, Fix, known

MCP_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "rightseat doctor", "version": "1"},
    },
}


class FaceHandshake(NamedTuple):
    """The first request of a client, and which clients send it. `path` is below that of the face.

    `is_for_pages`: pages of other origins may be clients.
    """

    method: str
    path: str
    clients: str
    body: object = None
    is_for_pages: bool = True


HANDSHAKES = {
    "copilotkit": FaceHandshake("POST", "", "CopilotKit 1.8 to 1.10.6, and from 1.50 on", {"method": "info"}),
    "ai_sdk": FaceHandshake("GET", "/rightseat-doctor/stream", "useChat of AI SDK 6 and 7, and assistant-ui"),
    "openai": FaceHandshake("GET", "/models", "OpenAI-compatible clients"),
    "anthropic": FaceHandshake("GET", "/v1/models", "Claude Code and Anthropic's SDKs"),
    "openbb": FaceHandshake("GET", "/agents.json", "OpenBB Workspace, current and of 2024"),
    "mcp": FaceHandshake("POST", "", "MCP clients", MCP_INITIALIZE),
    "metrics": FaceHandshake("GET", "", "Prometheus", is_for_pages=False),
    "usage": FaceHandshake("GET", "", "programs that read the usage report", is_for_pages=False),
    "operator": FaceHandshake("GET", "/me", "the web console", is_for_pages=False),
    "console": FaceHandshake("GET", "/", "browsers", is_for_pages=False),
}


def check_faces(context: CheckContext) -> Iterator[Check]:
    for index, face in enumerate(context.config.faces if context.config else ()):
        subject, title = f"faces[{index}]", "A client can connect"
        handshake = HANDSHAKES.get(face.type)
        if handshake is None or context.application is None:
            reason = "the application could not be built" if handshake else f"no handshake is known for {face.type!r}"
            yield Check("face", subject, title, known(CheckOutcome("skipped", f"{face.type}: {reason}.")))
        else:
            run = partial(shake_hands, context.application, face, handshake, context.key)
            yield Check("face", subject, title, run)


async def shake_hands(
    application: ASGIApp, face: ConfiguredPart, handshake: FaceHandshake, key: str | None
) -> CheckOutcome:
    path = f"{path_of(face)}{handshake.path}"
    body = json.dumps(handshake.body).encode() if handshake.body else b""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    auth = {"authorization": f"Bearer {key}"} if key else {}
    response = await send_request(application, handshake.method, path, headers | auth, body)
    return judge_response(response, f"{handshake.method} {path}", face, handshake)


def path_of(face: ConfiguredPart) -> str:
    """Without the slash at its end."""
    return str(getattr(face.options, "path", "")).rstrip("/")


def judge_response(
    response: AsgiResponse, request: str, face: ConfiguredPart, handshake: FaceHandshake
) -> CheckOutcome:
    if response.status in (200, 204):
        return CheckOutcome("ok", f"{face.type}: {request} works. Clients: {handshake.clients}.")
    if response.status == 401:
        text = f"{face.type}: {request} needs a key, which this check does not have."
        return CheckOutcome("skipped", text)
    text = " ".join(response.body.decode("utf-8", "replace").split())[:200]
    fix = Fix("The log of the server has the cause. See that no other face has the same path.")
    return CheckOutcome("error", f"{face.type}: {request} returned HTTP {response.status}: {text}", fix)
