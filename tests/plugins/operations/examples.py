"""Small plugins to send operations of, and what they need around them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rightseat.egress.redaction import Redactor
from rightseat.egress.secrets import EVERY_SECRET, SecretGrant, Secrets
from rightseat.egress.untrusted import UntrustedClient
from rightseat.plugins.definition import (
    Auth,
    Identity,
    Operation,
    Parameter,
    ParameterLocation,
    Plugin,
    PluginTexts,
    RequestBody,
)
from rightseat.plugins.operations import OperationClient
from tests.tcp import Script, Visit

EVERYWHERE = [SecretGrant(EVERY_SECRET)]

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


def parameter(name: str, place: ParameterLocation = "query", schema: Any = None, **more: Any) -> Parameter:
    return Parameter(name, place, schema or {"type": "string"}, **more)


def operation(*parameters: Parameter, method: str = "GET", path: str = "/things", **more: Any) -> Operation:
    return Operation(method, path, parameters=parameters, **more)


def body(media_type: Any, properties: dict[str, Any], **more: Any) -> RequestBody:
    required = more.pop("required_names", [])
    schema = {"type": "object", "properties": properties, "required": required}
    return RequestBody(media_type, schema, required=more.pop("required", True), **more)


def plugin(server: str = "http://127.0.0.1:1", *operations: Operation, auth: Sequence[Auth] = ()) -> Plugin:
    return Plugin(
        Identity("things", "1.0.0", "digest"), Path(), PluginTexts("Things", "Things of all kinds."), auth=tuple(auth),
        server=server, operations={one.name: one for one in operations},
    )  # fmt: skip


def sender(
    redactor: Redactor | None = None,
    clock: Any = None,
    largest: int = 10**7,
    trusted: Sequence[str] = (),
    **secrets: str,
) -> OperationClient:
    """One that may visit this machine, whatever the port."""
    environ = {f"RIGHTSEAT_SECRET_{name}": value for name, value in secrets.items()}
    more = {"clock": clock} if clock else {}
    return OperationClient(
        UntrustedClient(), Secrets(environ, grants=EVERYWHERE), redactor or Redactor(), lambda plugin: ["127.0.0.1"],
        lambda plugin: trusted, max_response_bytes=largest, **more,
    )  # fmt: skip


def json_answer(text: str, status: str = "200 OK", *headers: str) -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", "content-type: application/json", *headers))
    return f"{head}content-length: {len(text.encode())}\r\n\r\n{text}".encode()


def in_turn(*answers: bytes) -> Script:
    """One answer to each request, in their order; the last one again and again."""
    left = list(answers)

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(left.pop(0) if len(left) > 1 else left[0])

    return script
