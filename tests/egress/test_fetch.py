"""The guarded door out: what it opens for, and what it does not, with real servers and a resolver of our own."""

import asyncio
import ssl
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.errors import AddressForbidden, FetchFailed
from rightseat.egress.addresses import parse_url
from rightseat.egress.fetch import AddressPolicy, FetchedFile, Fetcher, FetchLimits
from tests.conditions import Paced
from tests.tcp import Script, Server, Visit, chunked, playing

HERE = AddressPolicy(allow=["127.0.0.1"])
OK = b"HTTP/1.1 200 OK\r\ncontent-type: Text/CSV; charset=utf-8\r\n"


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"], scope="module")
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


def plays(*answers: bytes, heads: list[str] | None = None) -> Script:
    """One answer to each connection, in their order; the last one again and again."""
    left = list(answers)

    async def script(visit: Visit) -> None:
        head = await visit.reader.readuntil(b"\r\n\r\n")
        if heads is not None:
            heads.append(head.decode())
        await visit.send(left.pop(0) if len(left) > 1 else left[0])

    return script


def moved(to: str, status: int = 302) -> bytes:
    return b"HTTP/1.1 %d Moved\r\nlocation: %b\r\ncontent-length: 0\r\n\r\n" % (status, to.encode())


def names(*answers: Sequence[str]) -> tuple[Callable[[str, int], Awaitable[Sequence[str]]], list[str]]:
    """A resolver that gives one answer after the other, and the names it was asked for."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return answers[min(len(asked), len(answers)) - 1]

    return resolve, asked


def port_of(server: Server) -> int:
    return int(server.url.rpartition(":")[2])


async def test_a_file_is_fetched() -> None:
    heads: list[str] = []
    async with playing(plays(OK + b"content-length: 5\r\n\r\na,b\n1", heads=heads)) as server:
        url = f"{server.url}/files/a b.csv?x=1&y=ü#part".replace(" ", "%20")

        fetched = await Fetcher(HERE).get(url)

    assert fetched == FetchedFile(b"a,b\n1", "text/csv", f"{server.url}/files/a%20b.csv?x=1&y=%C3%BC")
    assert heads == [
        "GET /files/a%20b.csv?x=1&y=%C3%BC HTTP/1.1\r\n"
        f"host: {server.url.removeprefix('http://')}\r\n"
        "user-agent: rightseat\r\naccept: */*\r\naccept-encoding: identity\r\nconnection: close\r\n\r\n"
    ]


@pytest.mark.parametrize("body", [OK + b"transfer-encoding: chunked\r\n\r\n" + chunked(b"ab", b"c"), OK + b"\r\nabc"])
async def test_a_response_can_use_any_framing_or_encoding(body: bytes) -> None:
    async with playing(plays(body)) as server:
        assert (await Fetcher(HERE).get(server.url)).content == b"abc"


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1.",
        "１２７.0.0.1", "localhost", "LOCALHOST.", "0.0.0.0", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
        "[2001:0:7f00:1::]", "[fec0::1]",
        "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "100.64.0.1",
        "100.100.100.200", "168.63.129.16", "192.0.0.192", "224.0.0.1", "[ff02::1]", "255.255.255.255", "198.18.0.1",
        "240.0.0.1", "[100::1]", "[2001:db8::1]",
    ],
)  # fmt: skip
async def test_a_private_address_is_refused_in_any_spelling(host: str) -> None:
    async with playing(plays(OK + b"\r\nsecret")) as server:
        with pytest.raises(AddressForbidden, match="unless the operator allows"):
            await Fetcher().get(f"http://{host}:{port_of(server)}/")

    assert server.visits == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/passwd", "http:// or https://"),
        ("gopher://example.com/", "http:// or https://"),
        ("example.com", "http:// or https://"),
        ("http://user:word@example.com/", "user name or password"),
        ("http://example.com\\@127.0.0.1/", "backslash"),
        ("http://exa mple.com/", "whitespace"),
        ("http://example.com/\r\nx: y", "whitespace"),
        ("http://example.com:99999/", "its host and port"),
        ("http://[::1/", "its host and port"),
        ("http://[fe80::1%25eth0]/", "zone id"),
        ("http://1.2.3.4.5/", "invalid IP address"),
        ("http://256.1.1.1/", "invalid IP address"),
        ("http:///nowhere", "invalid host name"),
        ("http://a..b/", "invalid host name"),
        ("http://-a.com/", "invalid host name"),
        ("http://exa%6dple.com/", "invalid host name"),
        ("http://" + "a" * 5000, "longer than"),
    ],
)
async def test_a_url_that_is_not_plain_http_is_refused(url: str, words: str) -> None:
    with pytest.raises(AddressForbidden, match=words):
        await Fetcher().get(url)


async def test_a_host_name_is_checked_by_the_addresses_it_resolves_to() -> None:
    resolve, _ = names(["10.0.0.7", "fd00::7"])

    with pytest.raises(AddressForbidden) as refused:
        await Fetcher(resolve=resolve).get("http://files.example.com/")

    assert refused.value.message == (
        "files.example.com resolves to a private address; "
        "only public addresses are allowed unless the operator allows others."
    )


async def test_all_addresses_of_a_host_name_must_be_allowed() -> None:
    resolve, _ = names(["127.0.0.1", "10.0.0.7"], ["127.0.0.2", "127.0.0.1"])
    async with playing(plays(OK + b"\r\nfound")) as server:
        url = f"http://files.example.com:{port_of(server)}/"
        with pytest.raises(AddressForbidden, match="private address"):
            await Fetcher(HERE, resolve=resolve).get(url)
        assert server.visits == []

        fetched = await Fetcher(AddressPolicy(allow=["127.0.0.0/8"]), resolve=resolve).get(url)

    assert fetched.content == b"found"


async def test_a_host_name_is_resolved_once_so_that_it_cannot_be_rebound() -> None:
    resolve, asked = names(["127.0.0.1"], ["10.0.0.7"])
    async with playing(plays(OK + b"\r\nfound")) as server:
        fetched = await Fetcher(HERE, resolve=resolve).get(f"http://rebind.example.com:{port_of(server)}/")

    assert (fetched.content, asked) == (b"found", ["rebind.example.com"])


async def test_a_redirect_to_the_same_host_name_is_checked_again() -> None:
    resolve, asked = names(["127.0.0.1"], ["127.0.0.2"])
    async with playing(plays(moved("/again"), OK + b"\r\nsecret")) as server:
        with pytest.raises(AddressForbidden, match="loopback address"):
            await Fetcher(HERE, resolve=resolve).get(f"http://rebind.example.com:{port_of(server)}/")

    assert len(server.visits) == 1
    assert asked == ["rebind.example.com", "rebind.example.com"]


@pytest.mark.parametrize(
    "to", ["http://127.0.0.2:1/", "//[::1]/", "http://0.0.0.0:1/", "file:///etc/passwd", "http://u:p@127.0.0.1/"]
)
async def test_a_redirect_to_a_forbidden_address_is_not_followed(to: str) -> None:
    async with playing(plays(moved(to), OK + b"\r\nsecret")) as server:
        with pytest.raises(AddressForbidden):
            await Fetcher(HERE).get(server.url)

    assert len(server.visits) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(status: int) -> None:
    async with playing(plays(moved("/next?a=b", status), moved("sub", status), OK + b"\r\nfound")) as server:
        fetched = await Fetcher(HERE).get(f"{server.url}/first/")

    assert (fetched.content, fetched.url) == (b"found", f"{server.url}/sub")


async def test_endless_redirects_are_refused() -> None:
    async with playing(plays(moved("/"))) as server:
        with pytest.raises(FetchFailed, match="More than 5 redirects"):
            await Fetcher(HERE).get(server.url)

    assert len(server.visits) == 6


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnope", "HTTP 404"),
        (b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n", "HTTP 302"),
        (OK + b"content-encoding: gzip\r\n\r\nxx", "compressed"),
        (OK + b"content-length: 1001\r\n\r\n", "larger than 1,000 bytes"),
        (OK + b"\r\n" + b"x" * 1001, "larger than 1,000 bytes"),
        (OK + b"transfer-encoding: chunked\r\n\r\n" + chunked(b"x" * 600, b"x" * 600), "larger than 1,000 bytes"),
        (OK + b"content-length: 10\r\n\r\nshort", "in the middle of the response"),
        (b"SSH-2.0-OpenSSH\r\n", "not valid HTTP"),
        (b"", "without a response"),
        (OK + b"x: " + b"y" * 200_000, "Got more than 65536 bytes"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000, "too large with its headers"),
        (
            OK + b"transfer-encoding: chunked\r\n\r\n1;" + b"e" * 300_000 + b"\r\nx\r\n0\r\n\r\n",
            "too large with its headers",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_response_that_is_no_file_is_reported_with_the_reason(answer: bytes, words: str) -> None:
    async with playing(plays(answer)) as server, asyncio.timeout(30):
        with pytest.raises(FetchFailed, match=words):
            await Fetcher(HERE, FetchLimits(max_bytes=1000)).get(server.url)


async def test_a_slow_response_body_times_out() -> None:
    async def drips(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await visit.send(OK + b"\r\n")
        async for _ in Paced(count(), 0.01):
            if visit.left.is_set():
                return
            await visit.send(b"x")

    async with playing(drips) as server, asyncio.timeout(30):
        with pytest.raises(FetchFailed, match=r"within 0\.3 s"):
            await Fetcher(HERE, FetchLimits(timeout=0.3)).get(server.url)
        await server.visits[0].gone()


async def test_a_silent_server_times_out() -> None:
    async def silent(visit: Visit) -> None:
        await visit.gone()

    async with playing(silent) as server, asyncio.timeout(30):
        with pytest.raises(FetchFailed, match=r"sent nothing for 0\.2 s"):
            await Fetcher(HERE, FetchLimits(read_timeout=0.2)).get(server.url)


async def test_a_closed_port_is_reported_without_its_address() -> None:
    resolve, _ = names(["127.0.0.1"])
    async with playing(plays(b"")) as server:
        port = port_of(server)

    with pytest.raises(FetchFailed, match=r"Cannot reach files\.example\.com") as failed:
        await Fetcher(HERE, resolve=resolve).get(f"http://files.example.com:{port}/")

    assert "127.0.0.1" not in failed.value.message


async def test_an_unknown_host_name_is_reported() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    with pytest.raises(FetchFailed, match=r"Cannot resolve the host name nowhere\.example\.com"):
        await Fetcher(resolve=resolve).get("http://nowhere.example.com/")


@pytest.mark.parametrize(
    ("allow", "host", "may"),
    [
        (["127.0.0.0/8"], "127.0.0.1", True),
        (["127.0.0.1/32"], "[::ffff:127.0.0.1]", True),
        (["::1"], "127.0.0.1", False),
        (["localhost"], "localhost", True),
        (["localhost"], "127.0.0.1", False),
        (["files.internal"], "files.internal", True),
        (["files.internal"], "other.internal", False),
        (["files.internal"], "files.internal.example.com", False),
        ([".internal"], "a.b.internal", True),
        ([".internal"], "notinternal", False),
    ],
)
async def test_the_operator_allows_networks_and_names(allow: list[str], host: str, may: bool) -> None:
    resolve, _ = names(["127.0.0.1"])
    async with playing(plays(OK + b"\r\nfound")) as server:
        fetching = Fetcher(AddressPolicy(allow), resolve=resolve).get(f"http://{host}:{port_of(server)}/")
        if may:
            assert (await fetching).content == b"found"
        else:
            with pytest.raises(AddressForbidden):
                await fetching

    assert bool(server.visits) == may


async def test_only_hosts_excludes_all_other_hosts() -> None:
    fetcher = Fetcher(AddressPolicy(only=["api.example.com"]))

    with pytest.raises(AddressForbidden, match=r"www\.example\.com is not an allowed host"):
        await fetcher.get("https://www.example.com/")


@pytest.mark.parametrize("entry", ["10.0.0.0/99", "not a name", "http://x/", "", "*.example.com"])
def test_an_allowed_target_must_be_a_network_or_a_host_name(entry: str) -> None:
    with pytest.raises(ValueError, match="not a network"):
        AddressPolicy(allow=[entry])


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with playing(plays(OK + b"\r\nfound")) as server:
        assert (await Fetcher(HERE).get(server.url)).content == b"found"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=files"
    names = "-addext subjectAltName=DNS:files.example.com -keyout key.pem -out certificate.pem"
    try:
        subprocess.run(f"{command} {names}".split(), cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return folder


async def test_a_certificate_is_verified_against_the_host_name_and_not_the_ip_address(certificate: Path) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
    trusting = ssl.create_default_context(cafile=str(certificate / "certificate.pem"))
    resolve, _ = names(["127.0.0.1"])
    async with playing(plays(OK + b"\r\nfound"), serving) as server:
        port = port_of(server)

        fetched = await Fetcher(HERE, resolve=resolve, tls=trusting).get(f"https://files.example.com:{port}/")
        with pytest.raises(FetchFailed, match="Cannot reach "):
            await Fetcher(HERE, resolve=resolve, tls=trusting).get(f"https://other.example.com:{port}/")
        with pytest.raises(FetchFailed, match="Cannot reach "):
            await Fetcher(HERE, resolve=resolve).get(f"https://files.example.com:{port}/")

    assert fetched.content == b"found"


async def test_a_redirect_from_https_to_http_is_not_followed(certificate: Path) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
    trusting = ssl.create_default_context(cafile=str(certificate / "certificate.pem"))
    resolve, _ = names(["127.0.0.1"])
    async with playing(plays(moved("http://files.example.com/")), serving) as server:
        with pytest.raises(AddressForbidden, match="from https to http"):
            await Fetcher(HERE, resolve=resolve, tls=trusting).get(f"https://files.example.com:{port_of(server)}/")


def test_a_parsed_url_is_printed_in_its_normal_form() -> None:
    assert parse_url("HTTP://EXAMPLE.com:80").url == "http://example.com/"
    assert parse_url("https://bücher.example/ä?q=ö").url == "https://xn--bcher-kva.example/%C3%A4?q=%C3%B6"
    assert parse_url("http://0x7f.1:8080/a").url == "http://127.0.0.1:8080/a"
    assert parse_url("http://[2606:4700::1111]/").url == "http://[2606:4700::1111]/"
