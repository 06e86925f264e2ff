"""Which names a server answers for."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from rightseat import app, config
from rightseat.access.hosts import Hosts
from rightseat.core.errors import BadRequest, HostNotAllowed
from tests.conftest import serving


def scope(*hosts: str, server: tuple[str, int | None] | None = ("10.0.0.7", 8000)) -> dict[str, Any]:
    return {"headers": [(b"accept", b"*/*"), *((b"host", host.encode("latin-1")) for host in hosts)], "server": server}


OURS = Hosts(["copilot.example.com", "0.0.0.0"])


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LOCALHOST:3000", "127.0.0.1", "127.0.0.1:8000", "[::1]", "[::1]:8000",
        "copilot.example.com", "Copilot.Example.com:443", "copilot.example.com.", "0.0.0.0:8000", "10.0.0.7:8000",
    ],
)  # fmt: skip
def test_allowed_hosts_are_accepted_with_any_port(host: str) -> None:
    OURS.check(scope(host))


@pytest.mark.parametrize(
    "host",
    [
        "evil.com", "copilot.example.com.evil.com", "evil-copilot.example.com", "example.com", "localhost.evil.com",
        "127.0.0.1.nip.io", "127.0.0.2", "10.0.0.8", "2130706433", "0x7f.1", "017700000001", "[::2]",
        "[::ffff:127.0.0.1]", "xn--lcalhost-54a",
    ],
)  # fmt: skip
def test_other_hosts_are_refused(host: str) -> None:
    with pytest.raises(HostNotAllowed, match=r"server\.hosts"):
        OURS.check(scope(host))


@pytest.mark.parametrize(
    "host",
    [
        "", " ", "localhost?", "localhost#", "localhost/", "localhost?.evil.com", "evil.com#localhost", "a@localhost",
        "localhost@evil.com", "localhost\\", "localhost\\@evil.com", "local host", " localhost", "localhost ",
        "localhost\t", "localhost:", "localhost:80:80", "localhost:-1", "localhost:123456", "localhost:80a",
        "http://localhost", "//localhost", "[::1", "::1]", "[]", "[localhost]", "localhost,evil.com",
        "localhost;evil.com", "localhost%00", "localhost%2eevil.com", "löcalhost", "localhost\x00", "*",
    ],
)  # fmt: skip
def test_a_malformed_host_header_is_refused(host: str) -> None:
    with pytest.raises(BadRequest, match="one Host header"):
        Hosts(["*"]).check(scope(host))


@pytest.mark.parametrize(
    "hosts", [[], ["localhost", "localhost"], ["localhost", "evil.com"], ["evil.com", "localhost"]]
)
def test_a_request_with_several_host_headers_is_refused(hosts: list[str]) -> None:
    with pytest.raises(BadRequest, match="one Host header"):
        OURS.check(scope(*hosts))


@pytest.mark.parametrize(
    ("server", "client", "host", "is_allowed"),
    [
        (["testserver", 80], ["testclient", 50000], "testserver", True),
        (["testserver", 80], ["127.0.0.1", 50000], "testserver", False),
        (["127.0.0.1", 80], ["testclient", 50000], "testserver", False),
        (["testserver", 80], ["testclient", 50000], "evil.com", False),
    ],
)
def test_the_test_client_of_starlette_may_call(
    server: list[Any], client: list[Any], host: str, is_allowed: bool
) -> None:
    """A server may take its own name, the client's address or both from headers, but no page sends all three."""
    asked = {**scope(host), "server": server, "client": client}
    if is_allowed:
        OURS.check(asked)
        return
    with pytest.raises(HostNotAllowed):
        OURS.check(asked)


def test_a_star_allows_every_host() -> None:
    Hosts(["*"]).check(scope("evil.com:1"))


@pytest.mark.parametrize("server", [None, ("/run/rightseat.sock", None), ("evil.com", 80), ("", 0)])
def test_only_an_ip_address_can_match_the_local_address(server: tuple[str, int | None] | None) -> None:
    with pytest.raises(HostNotAllowed):
        OURS.check(scope("evil.com", server=server))


# On a server


HOSTILE = [
    b"evil.com",
    b"127.0.0.1?",
    b"127.0.0.1?/health",
    b"127.0.0.1#",
    b"127.0.0.1/health?",
    b"x@127.0.0.1",
    b"127.0.0.1@evil.com",
    b"127.0.0.1\\",
    b"127.0.0.1\\@evil.com",
    b"127.0.0.1 evil.com",
    b"127.0.0.1\tevil.com",
    b"127.0.0.1,evil.com",
    b"http://127.0.0.1",
    b"[::1",
    b"\xff",
    b"",
]
TARGETS = [b"/health", b"/copilotkit", b"/copilotkit/threads", b"/nowhere", b"http://127.0.0.1/copilotkit"]


async def send(url: str, target: bytes, *hosts: bytes, method: bytes = b"GET") -> tuple[int, bytes]:
    """As bytes: a client library would put a hostile header right."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    lines = [
        b"%b %b HTTP/1.1" % (method, target),
        *(b"Host: " + host for host in hosts),
        b"Connection: close",
        b"",
        b"",
    ]
    writer.write(b"\r\n".join(lines))
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.fixture(scope="module")
async def url() -> AsyncIterator[str]:
    text = "access: {keys: [{name: alice, key: key-alice}]}\nlog: {type: memory}\nthreads: {type: memory}"
    async with serving(app.build(config.parse(text, environ={}))) as url:
        yield url


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("host", HOSTILE)
async def test_a_foreign_host_header_is_refused_on_every_path(url: str, target: bytes, host: bytes) -> None:
    status, body = await send(url, target, host)

    assert status in (400, 421)
    assert b"key" not in body
    assert b"version" not in body


async def test_a_target_in_absolute_form_is_checked_by_its_host_header_and_path(url: str) -> None:
    """`GET http://evil.com/health` is routed by its path alone, and the Host must be ours."""
    assert (await send(url, b"http://evil.com/health", b"127.0.0.1"))[0] == 200
    assert (await send(url, b"http://127.0.0.1/health", b"evil.com"))[0] == 421
    assert (await send(url, b"http://evil.com/copilotkit", b"127.0.0.1"))[0] == 401
    assert (await send(url, b"http://127.0.0.1/copilotkit?/health", b"127.0.0.1"))[0] == 401
    assert (await send(url, b"/copilotkit#/health", b"127.0.0.1"))[0] in (400, 401, 404)
    assert (await send(url, b"//health/copilotkit", b"127.0.0.1"))[0] == 404


async def test_two_host_headers_and_none_are_refused(url: str) -> None:
    assert (await send(url, b"/health"))[0] == 400
    assert (await send(url, b"/health", b"127.0.0.1", b"evil.com"))[0] == 400
    assert (await send(url, b"/health", b"evil.com", b"127.0.0.1"))[0] == 400


async def test_the_refusal_names_the_configuration_key(url: str) -> None:
    _, body = await send(url, b"/health", b"copilot.example.com")

    assert json.loads(body) == {
        "error": "host_not_allowed",
        "message": "The host 'copilot.example.com' is not allowed. An operator can add it to `server.hosts`.",
    }


async def test_the_host_of_a_preflight_is_checked_too(url: str) -> None:
    assert (await send(url, b"/copilotkit", b"evil.com", method=b"OPTIONS"))[0] == 421
