"""The address that the server listens on: it is free, or a rightseat answers there."""

import errno
import json
import os
import socket
from collections.abc import Iterator

from rightseat.config import Server
from rightseat.egress.client import Client
from rightseat.egress.network import make_unverified_tls
from rightseat.egress.transport import TransportError
from rightseat.health.context import CheckContext, RunningServer
from rightseat.health.finding import Check, CheckOutcome, Fix, known

FIND_TIMEOUT_S = 2.0
MAX_HEALTH_BYTES = 10_000


def check_port(context: CheckContext) -> Iterator[Check]:
    server = context.server
    yield Check("port", f"{server.host}:{server.port}", "The port is free", known(judge_port(context)))


def judge_port(context: CheckContext) -> CheckOutcome:
    server, running = context.server, context.running
    if running is not None:
        return CheckOutcome("ok", f"rightseat {running.version} is running at {running.url}.")
    if server.port == 0:
        return CheckOutcome("ok", "The server takes any free port.")
    try:
        bind(server, server.port)
    except OSError as error:
        return explain(error, server)
    return CheckOutcome("ok", f"Port {server.port} of {server.host} is free. No server is running there.")


def bind(server: Server, port: int) -> int:
    """Listen for a moment. Returns the port. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    with socket.create_server((server.host, port), family=family) as listener:
        found: int = listener.getsockname()[1]
        return found


def explain(error: OSError, server: Server) -> CheckOutcome:
    where = f"port {server.port} of {server.host}"
    if error.errno == errno.EADDRINUSE:
        other = bind(server, 0)
        fix = Fix(
            f"Stop that program (the command shows it), or use another port, such as `rightseat serve --port {other}`.",
            f"ss -ltnp 'sport = :{server.port}'",
            f"server: {{port: {other}}}",
        )
        return CheckOutcome("error", f"P{where[1:]} is in use by a program that is not rightseat.", fix)
    reason = os.strerror(error.errno) if error.errno else str(error)
    if error.errno == errno.EACCES:
        fix = Fix("Ports below 1024 need privileges: set a higher one in `server.port`, behind a reverse proxy.")
    else:
        fix = Fix("Set `server.host` to an address of this machine, or to 0.0.0.0 for all of them.")
    return CheckOutcome("error", f"Cannot listen on {where}: {reason}.", fix)


async def find_running_server(server: Server) -> RunningServer | None:
    """The rightseat that answers at this address, over http or https."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.host, server.host)  # noqa: S104
    place = f"[{host}]:{server.port}" if ":" in host else f"{host}:{server.port}"
    for scheme in ("http", "https"):
        if server.port and (version := await read_version(f"{scheme}://{place}")):
            return RunningServer(f"{scheme}://{place}", version)
    return None


async def read_version(url: str) -> str | None:
    client = Client(url, {}, timeout=FIND_TIMEOUT_S, connect_timeout=FIND_TIMEOUT_S, tls=make_unverified_tls())
    try:
        async with client.get("/health") as response:
            is_ours = "x-request-id" in response.headers  # other servers have a /health of the same form
            body = json.loads(await response.text(MAX_HEALTH_BYTES))
    except (TransportError, ValueError):
        return None
    finally:
        await client.aclose()
    return str(body["version"]) if is_ours and isinstance(body, dict) and body.keys() == {"status", "version"} else None
