"""There is one door out: no other module opens connections, but for those that call what the operator named."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import rightseat

SOURCE = Path(rightseat.__file__).parent

EXCEPTIONS = {
    "egress/untrusted.py": "the door itself",
    "egress/client.py": "models, agents, keys of issuers, `rightseat doctor`: addresses of the operator",
    "egress/transport.py": "one request of either, over the connections of the connector",
    "egress/connector.py": "connections of both",
    "toolboxes/mcp/connection.py": "MCP servers that the configuration names, also those that it lets clients choose",
    "models/completion/backends/process.py": "waits for the port of a model server that we started",
}

CLIENTS = frozenset({"aiohttp", "ftplib", "http.client", "httpx", "httpx2", "requests", "smtplib", "telnetlib",
                     "urllib.request", "urllib3", "websockets"})  # fmt: skip
VALIDATORS = r"jsonschema_rs\.(\w+Validator|validator_for|validate|is_valid|iter_errors|evaluate|bundle|dereference)"
CALLS = frozenset({"open_connection", "open_unix_connection", "create_connection", "create_unix_connection",
                   "create_datagram_endpoint", "sock_connect", "connect_ex", "urlopen"})  # fmt: skip


def openings(tree: ast.AST) -> Iterator[str]:
    """What in a module could open a connection."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names if is_client(one.name))
            case ast.ImportFrom(module=str(module), names=names):
                yield from (module for one in names if is_client(module) or is_client(f"{module}.{one.name}"))
            case ast.Attribute(attr=attr) if attr in CALLS:
                yield attr
            case ast.Call(func=ast.Attribute(value=ast.Name(id="socket" | "sock"), attr="connect")):
                yield "socket.connect"
            case ast.Call(func=func, keywords=given) if fetches(ast.unparse(func), {one.arg for one in given}):
                yield ast.unparse(func)


def fetches(name: str, given: set[str | None]) -> bool:
    """A validator of JSON Schemas fetches what `$schema` and `$ref` name."""
    if name.startswith("jsonschema_rs.meta."):
        return "registry" not in given
    return "offline" not in given and re.fullmatch(VALIDATORS, name) is not None


def is_client(module: str) -> bool:
    return any(module == client or module.startswith(f"{client}.") for client in CLIENTS)


def test_R_7_5_only_the_egress_client_opens_connections() -> None:
    files = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    found = {name: sorted(set(openings(ast.parse(path.read_text())))) for name, path in files.items()}

    assert {name: why for name, why in found.items() if why and name not in EXCEPTIONS} == {}
    assert all(found[name] for name in EXCEPTIONS), "an exception that is none any more"


def test_the_search_finds_every_call_that_opens_a_connection() -> None:
    code = """
import httpx2, urllib.request
from http import client
from urllib3 import PoolManager
async def f(loop, socket):
    await asyncio.open_connection("a", 1)
    await loop.create_connection(P, "a", 1)
    socket.connect(("a", 1))
    jsonschema_rs.validator_for(schema)
    jsonschema_rs.is_valid(schema, 1, offline=True)
    jsonschema_rs.meta.validate(schema)
"""

    assert sorted(openings(ast.parse(code))) == [
        "create_connection", "http", "httpx2", "jsonschema_rs.meta.validate", "jsonschema_rs.validator_for",
        "open_connection", "socket.connect", "urllib.request", "urllib3",
    ]  # fmt: skip
