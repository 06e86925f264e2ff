"""Proxies, certificates and addresses that do not answer: with real servers, for both ways out."""

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from pydantic import SecretStr, ValidationError

from rightseat.core.errors import AddressForbidden, ConfigError
from rightseat.egress import connector
from rightseat.egress.addresses import AddressPolicy, parse_url
from rightseat.egress.client import Client
from rightseat.egress.network import NetworkOptions, TlsOptions, find_proxy, is_bypassed
from rightseat.egress.request import parse_base_url
from rightseat.egress.transport import TransportError
from rightseat.egress.untrusted import FetchRequest, RequestLimits, UntrustedClient, UntrustedRequestFailed
from tests.certificates import Certificates, make_certificates
from tests.proxy import proxying
from tests.tcp import answers, full_backlog, playing

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
USER = "Basic dXNlcjpwYXNzd29yZA=="  # user:password


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"], scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def no_proxy_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http", "https", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name.upper()}_PROXY", raising=False)


def network(proxy: str | None = None, **tls: Path) -> NetworkOptions:
    return NetworkOptions(proxy=SecretStr(proxy) if proxy is not None else None, tls=TlsOptions(**tls) if tls else None)


async def post(url: str, options: NetworkOptions | None = None, **more: Any) -> bytes:
    client = Client(url, {}, network=options, **more)
    try:
        async with asyncio.timeout(30), client.post("/x", b"{}") as response:
            return b"".join([piece async for piece in response])
    finally:
        await client.aclose()


# Proxies


@pytest.mark.parametrize("is_secure", [False, True], ids=["http", "https"])
async def test_requests_go_through_the_configured_proxy(certificates: Certificates, is_secure: bool) -> None:
    tls = certificates.server_context() if is_secure else None
    async with playing(answers(OK), tls) as server, proxying() as proxy:
        port = server.url.rpartition(":")[2]
        url = f"{'https' if is_secure else 'http'}://model.test:{port}"

        assert await post(url, network(proxy.url, ca=certificates.ca)) == b"ok"

    assert server.requests[0].line == "POST /x HTTP/1.1"
    assert server.requests[0].header("host") == f"model.test:{port}"
    assert server.requests[0].header("proxy-authorization") is None
    assert proxy.lines == [f"CONNECT model.test:{port} HTTP/1.1" if is_secure else f"POST {url}/x HTTP/1.1"]


@pytest.mark.parametrize("is_secure", [False, True], ids=["http", "https"])
async def test_a_proxy_receives_its_user_and_password(certificates: Certificates, is_secure: bool) -> None:
    tls = certificates.server_context() if is_secure else None
    async with playing(answers(OK), tls) as server, proxying(USER) as proxy:
        url = server.url.replace("127.0.0.1", "model.test")
        named = proxy.url.replace("http://", "http://user:password@")

        assert await post(url, network(named, ca=certificates.ca)) == b"ok"

    assert proxy.authorizations == [USER]
    assert server.requests[0].header("proxy-authorization") is None


async def test_a_proxy_that_refuses_the_connection_is_named_without_its_password(certificates: Certificates) -> None:
    async with playing(answers(OK), certificates.server_context()) as server, proxying(USER) as proxy:
        named = proxy.url.replace("http://", "http://user:wrong-password@")
        with pytest.raises(TransportError, match="HTTP 407") as error:
            await post(server.url, network(named, ca=certificates.ca))

    assert proxy.url in str(error.value)
    assert "wrong-password" not in str(error.value)
    assert not server.visits


async def test_a_proxy_that_does_not_answer_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = f"http://127.0.0.1:{listener.getsockname()[1]}"

    with pytest.raises(TransportError, match=rf"Cannot reach the proxy {proxy}: Connection refused\."):
        await post("http://model.test", network(proxy))


async def test_connections_through_a_proxy_are_reused(certificates: Certificates) -> None:
    async with playing(answers(OK), certificates.server_context()) as server, proxying(USER) as proxy:
        named = proxy.url.replace("http://", "http://user:password@")
        client = Client(server.url, {}, network=network(named, ca=certificates.ca))
        for _ in range(3):
            async with client.post("/x", b"{}") as response:
                assert await response.text() == "ok"
        await client.aclose()

    assert len(proxy.lines) == 1


async def test_the_proxy_of_the_environment_is_used_where_none_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    async with playing(answers(OK)) as server, proxying() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        port = server.url.rpartition(":")[2]

        assert await post(f"http://model.test:{port}") == b"ok"
        assert await post(server.url) == b"ok"
        assert await post(server.url, network("direct")) == b"ok"

    assert proxy.lines == [f"POST http://model.test:{port}/x HTTP/1.1"]


@pytest.mark.parametrize(
    ("url", "variables", "found"),
    [
        ("https://a.test", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.test", {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ("https://a.test", {"https_proxy": "http://p:1", "HTTPS_PROXY": "http://q:1"}, "http://p:1"),
        ("https://a.test", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://a.test", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.test", {"HTTPS_PROXY": ""}, None),
        ("https://a.test", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "b.test, a.test"}, None),
        ("https://localhost:1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://127.0.0.1:1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://[::1]:1", {"HTTPS_PROXY": "http://p:1"}, None),
    ],
)
def test_the_environment_variables_select_the_proxy(
    url: str, variables: dict[str, str], found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    proxy = find_proxy(parse_base_url(url), None)

    assert (proxy.url if proxy else None) == found


@pytest.mark.parametrize(
    ("host", "port", "no_proxy", "is_so"),
    [
        ("a.test", None, "*", True),
        ("a.test", None, "a.test", True),
        ("a.test", None, ".test", True),
        ("a.test", None, "*.test", True),
        ("a.test", None, "test", True),
        ("a.test", None, "est", False),
        ("a.test", 8000, "a.test:8000", True),
        ("a.test", 8001, "a.test:8000", False),
        ("10.1.2.3", None, "10.0.0.0/8", True),
        ("11.1.2.3", None, "10.0.0.0/8", False),
        ("10.1.2.3", None, "10.1.2.3", True),
        ("fd00::1", None, "fd00::/8", True),
        ("a.test", None, "", False),
        ("a.test", None, " , ,", False),
    ],
)
def test_no_proxy_accepts_hosts_and_networks(host: str, port: int | None, no_proxy: str, is_so: bool) -> None:
    assert is_bypassed(host, port, no_proxy) is is_so


def test_an_invalid_proxy_variable_is_reported_without_its_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks5://user:password@p:1")

    with pytest.raises(ConfigError, match="The variable HTTPS_PROXY should be the address of a proxy") as error:
        Client("https://a.test", {})

    assert "socks5://user" not in str(error.value)


@pytest.mark.parametrize("proxy", ["socks5://p:1", "http://user:hunter22@p:1/path", "http://", "http://p:many"])
def test_an_invalid_proxy_address_is_refused_without_its_password(proxy: str) -> None:
    with pytest.raises(ValidationError, match="should be the address of a proxy") as error:
        NetworkOptions(proxy=SecretStr(proxy))

    assert "hunter22" not in str(error.value)


# Proxies, and addresses that somebody else named


async def test_requests_of_plugins_ignore_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with playing(answers(OK)) as server, proxying() as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        door = UntrustedClient(resolve=here)
        target = parse_url(server.url.replace("127.0.0.1", "a.test"))

        incoming = await door.send(
            FetchRequest("GET", target), AddressPolicy(allow=["a.test"]), RequestLimits(timeout=5)
        )

    assert incoming.content == b"ok"
    assert proxy.lines == []


@pytest.mark.parametrize("is_secure", [False, True], ids=["http", "https"])
async def test_requests_of_plugins_go_through_the_configured_proxy(certificates: Certificates, is_secure: bool) -> None:
    tls = certificates.server_context() if is_secure else None
    async with playing(answers(OK), tls) as server, proxying(USER) as proxy:
        named = proxy.url.replace("http://", "http://user:password@")
        door = UntrustedClient(resolve=unknown, network=network(named, ca=certificates.ca))
        target = parse_url(server.url.replace("127.0.0.1", "a.test") + "/b?c=d")

        incoming = await door.send(FetchRequest("GET", target), AddressPolicy(), RequestLimits(timeout=5))

    assert incoming.content == b"ok"
    assert proxy.lines == [
        f"CONNECT {target.authority} HTTP/1.1" if is_secure else f"GET http://{target.authority}/b?c=d HTTP/1.1"
    ]
    assert server.requests[0].header("proxy-authorization") is None


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://10.0.0.1/", "http://[::1]/", "http://a.test/"])
async def test_a_private_address_is_not_requested_through_a_proxy(url: str) -> None:
    async with proxying() as proxy:
        door = UntrustedClient(resolve=here, network=network(proxy.url))
        with pytest.raises(AddressForbidden):
            await door.send(FetchRequest("GET", parse_url(url)), AddressPolicy(), RequestLimits(timeout=5))

    assert proxy.lines == []


async def here(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


async def unknown(host: str, port: int) -> Sequence[str]:
    raise OSError("no such name")


# Certificates


async def test_a_certificate_authority_of_the_operator_is_trusted(certificates: Certificates) -> None:
    async with playing(answers(OK), certificates.server_context()) as server:
        assert await post(server.url, network(ca=certificates.ca)) == b"ok"
        with pytest.raises(TransportError, match="certificate verify failed"):
            await post(server.url)


async def test_a_client_certificate_is_sent_when_the_server_requests_one(certificates: Certificates) -> None:
    async with playing(answers(OK), certificates.server_context(asks_for_one=True)) as server:
        both = network(ca=certificates.ca, certificate=certificates.client)
        apart = network(ca=certificates.ca, certificate=certificates.client, key=certificates.client)

        assert await post(server.url, both) == b"ok"
        assert await post(server.url, apart) == b"ok"
        with pytest.raises(TransportError):
            await post(server.url, network(ca=certificates.ca))

    assert len(server.requests) == 2


async def test_a_client_certificate_is_sent_through_a_proxy(certificates: Certificates) -> None:
    async with playing(answers(OK), certificates.server_context(asks_for_one=True)) as server, proxying() as proxy:
        url = server.url.replace("127.0.0.1", "model.test")

        assert await post(url, network(proxy.url, ca=certificates.ca, certificate=certificates.client)) == b"ok"


async def test_a_certificate_for_another_host_name_is_refused(certificates: Certificates) -> None:
    async with playing(answers(OK), certificates.server_context()) as server, proxying() as proxy:
        url = server.url.replace("127.0.0.1", "other.example")
        with pytest.raises(TransportError, match="certificate"):
            await post(url, network(proxy.url, ca=certificates.ca))


def test_a_file_that_is_no_certificate_is_named(certificates: Certificates, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("")

    with pytest.raises(ConfigError, match=r"empty\.pem"):
        Client("https://a.test", {}, network=network(ca=empty))
    with pytest.raises(ConfigError, match=r"missing\.pem"):
        Client("https://a.test", {}, network=network(ca=tmp_path / "missing.pem"))
    with pytest.raises(ConfigError, match=r"ca\.pem"):  # without a key
        Client("https://a.test", {}, network=network(certificate=certificates.ca))


def test_a_key_without_a_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="`key` needs a `certificate`"):
        TlsOptions(key=tmp_path / "key.pem")


# An address that takes no connection, before one that does


class TwoAddresses(AbstractResolver):
    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=one, port=port, family=socket.AF_INET, proto=0, flags=0)
            for one in ("127.0.0.2", "127.0.0.1")
        ]

    async def close(self) -> None:
        pass


async def test_a_second_address_is_tried_while_the_first_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "ThreadedResolver", TwoAddresses)
    async with playing(answers(OK)) as server:
        port = int(server.url.rpartition(":")[2])
        with full_backlog("127.0.0.2", port):
            began = asyncio.get_running_loop().time()
            assert await post(f"http://model.test:{port}") == b"ok"

            assert asyncio.get_running_loop().time() - began < 1.5


async def test_a_second_checked_address_is_tried_while_the_first_does_not_answer() -> None:
    async def two(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]

    async with playing(answers(OK)) as server:
        port = int(server.url.rpartition(":")[2])
        with full_backlog("127.0.0.2", port):
            began = asyncio.get_running_loop().time()
            target = parse_url(f"http://a.test:{port}/")
            incoming = await UntrustedClient(resolve=two).send(
                FetchRequest("GET", target), AddressPolicy(allow=["127.0.0.0/8"]), RequestLimits()
            )

            assert incoming.content == b"ok"
            assert asyncio.get_running_loop().time() - began < 1.5


async def test_a_host_without_a_responding_address_is_reported_in_time() -> None:
    async def dead(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.3"]

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with full_backlog("127.0.0.2", port), full_backlog("127.0.0.3", port):
        target = parse_url(f"http://a.test:{port}/")
        with pytest.raises(UntrustedRequestFailed, match=r"No connection within 0\.5 s"):
            await UntrustedClient(resolve=dead).send(
                FetchRequest("GET", target), AddressPolicy(allow=["127.0.0.0/8"]), RequestLimits(connect_timeout=0.5)
            )
