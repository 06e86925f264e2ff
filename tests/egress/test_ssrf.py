"""Addresses that lead into our own network, in every spelling that we know of: none passes.

Each is asked for with the port of a real server on loopback; whatever is refused must not have reached it.
"""

from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address

import pytest

from rightseat.core.errors import AddressForbidden
from rightseat.egress.addresses import AddressPolicy, parse_url
from rightseat.egress.fetch import Fetcher
from rightseat.egress.untrusted import FetchRequest, RequestLimits, UntrustedClient, UntrustedRequestFailed
from tests.tcp import Server, answers, playing

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecret"
PRIVATE = ("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0")


def spellings(text: str) -> Iterator[str]:
    """One address of IPv4, in all bases, in one to four parts, and inside of IPv6."""
    number = int(IPv4Address(text))
    a, b, c, d = IPv4Address(text).packed
    yield from (text, f"{text}.", str(number), f"{number:#x}", f"0X{number:X}", f"0{number:o}", f"00{number:o}")
    yield from (f"{a:#x}.{b:#x}.{c:#x}.{d:#x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"000{a:o}.{b}.{c}.{d}")
    yield from (f"{a:#x}.{b}.0{c:o}.{d}", f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{number & 0xFFFF}")
    yield from (f"{a:#x}.{number & 0xFFFFFF:#x}", f"{number:#x}.")
    yield from ("".join(chr(0xFF10 + int(one)) if one.isdigit() else one for one in text), text.replace(".", "。"))
    yield from (text.replace(".", "．"), text.replace(".", "｡"))
    low = f"{number >> 16:x}:{number & 0xFFFF:x}"
    yield from (f"[::ffff:{text}]", f"[::ffff:{low}]", f"[::FFFF:{low.upper()}]", f"[0:0:0:0:0:ffff:{low}]")
    yield from (f"[::{low}]", f"[64:ff9b::{low}]", f"[64:ff9b::{text}]", f"[64:ff9b:1::{low}]")
    yield f"[2002:{low}::]"
    yield f"[2002:{low}::1]"
    yield f"[{IPv6Address((0x20010000 << 96) | (number << 64))}]"  # Teredo, by its server
    yield f"[{IPv6Address((0x20010000 << 96) | (int(IPv4Address('8.8.8.8')) << 64) | (number ^ 0xFFFFFFFF))}]"


HOSTS = tuple(dict.fromkeys(one for text in PRIVATE for one in spellings(text)))
OTHERS = (
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::0001]", "[fe80::1]", "[febf::1]", "[fec0::1]", "[feff::1]", "[fc00::1]",
    "[fd00:ec2::254]", "[fdff::1]", "[ff02::1]", "[ff0e::1]", "[100::1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]",
    "[4000::1]", "[2001:10::1]", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.0.0.1",
    "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "168.63.129.16",
    "100.100.100.200", "127.255.255.254", "0.1.2.3", "100.127.255.255", "172.31.255.255", "0x0.1", "127.2",
    "localhost", "LOCALHOST", "localhost.", "ⓛocalhost", "ｌｏｃａｌｈｏｓｔ",
)  # fmt: skip
NAMES = (
    "127.0.0.1.nip.example", "metadata.google.internal", "kubernetes.default.svc", "internal", "a.b.c.d.example",
    "xn--bcher-kva.example", "bücher.example", "_service.example", "rebind.example.", "EXAMPLE。com",
)  # fmt: skip
ODD = (
    "file:///etc/passwd", "gopher://{at}/_GET", "ftp://{at}/", "dict://{at}/", "ldap://{at}/", "jar:http://{at}/!/",
    "data:text/plain,x", "javascript:alert(1)", "//{at}/", "{at}", "http:{at}", "http:///{at}", "http:/{at}/",
    "ws://{at}/", "unix:///var/run/docker.sock", "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "https+http://{at}/",
    "http://user@{at}/", "http://user:word@{at}/", "http://example.com@{at}/", "http://{at}#@example.com/",
    "http://example.com:80@{at}/", "http://example.com%40{at}/", "http://example.com\\@{at}/", "http://{at}\\.example.com/",
    "http://{at}%00.example.com/", "http://{at}\t/", "http://{at}\n/", "http://\x00{at}/", " http://{at}/",
    "http://{at} /",
    "http://[::1]x:{port}/", "http://[::1%25lo]:{port}/", "http://[fe80::1%eth0]:{port}/", "http://[v1.x]:{port}/",
    "http://[127.0.0.1]:{port}/", "http://127.0.0.1:{port}:80/", "http://127.0.0.1:+{port}/", "http://127.0.0.1:-1/",
    "http://127.0.0.1:99999/", "http://127.0.0.1:{port}a/", "http://1.2.3.4.5:{port}/", "http://256.0.0.1:{port}/",
    "http://0x100000000:{port}/", "http://127.0.0.0x1.:{port}/", "http://127..0.1:{port}/", "http://.127.0.0.1:{port}/",
    "http://127%2e0%2e0%2e1:{port}/", "http://%31%32%37.0.0.1:{port}/", "http://127.0.0.1%2f:{port}/", "http://:{port}/",
    "http://?{at}/", "http://#{at}/", "HTTP://{at}/", "hTtP://{at}/", "http://{at}?", "http://{at}#x", "http://127。0。0。1:{port}",
)  # fmt: skip

URLS = [f"http://{host}:{{port}}/" for host in (*HOSTS, *OTHERS, *NAMES)] + list(ODD)


async def to_loopback(host: str, port: int) -> Sequence[str]:
    """Whatever the name, it is this machine."""
    return ["127.0.0.1"]


def test_the_list_of_spellings_is_long_enough() -> None:
    assert len(set(URLS)) == len(URLS)
    assert len(URLS) >= 200


@pytest.mark.parametrize("url", URLS)
async def test_R_7_5_no_spelling_of_a_private_address_is_reached(url: str) -> None:
    async with playing(answers(OK)) as server:
        host, _, port = server.url.removeprefix("http://").partition(":")
        full = url.replace("{port}", port).replace("{at}", f"{host}:{port}")

        with pytest.raises(AddressForbidden):
            await UntrustedClient(resolve=to_loopback).send(
                FetchRequest("POST", parse_url(full)), AddressPolicy(), RequestLimits(timeout=3)
            )

        with pytest.raises(AddressForbidden):
            await Fetcher(resolve=to_loopback).get(full)

    assert server.visits == []


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("host", ["127.0.0.2", "[::1]", "0.0.0.0", "2130706433", "localhost", "[::ffff:127.0.0.1]"])
async def test_R_7_4_R_7_5_a_redirect_is_not_followed(host: str, code: int) -> None:
    async with playing(answers(OK)) as inside:
        port = inside.url.rpartition(":")[2]
        moved = f"HTTP/1.1 {code} Moved\r\nlocation: http://{host}:{port}/\r\ncontent-length: 0\r\n\r\n".encode()
        async with playing(answers(moved)) as outside:
            allowed = AddressPolicy(allow=[outside.url.removeprefix("http://")])

            answer = await UntrustedClient().send(
                FetchRequest("GET", parse_url(outside.url)), allowed, RequestLimits(timeout=3)
            )
            with pytest.raises(AddressForbidden):
                await Fetcher(allowed).get(outside.url)

    assert answer.status == code
    assert (len(outside.visits), inside.visits) == (2, [])


@pytest.mark.parametrize(
    "addresses",
    [
        ["93.184.216.34", "127.0.0.1"], ["127.0.0.1", "93.184.216.34"], ["93.184.216.34", "10.0.0.1"],
        ["2606:2800:220:1::1", "::1"], ["93.184.216.34", "::ffff:127.0.0.1"], ["93.184.216.34", "64:ff9b::7f00:1"],
        ["1.1.1.1", "8.8.8.8", "169.254.169.254"],
    ],
)  # fmt: skip
async def test_R_7_5_a_host_name_with_one_private_address_is_refused(addresses: list[str]) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    with pytest.raises(AddressForbidden, match=r"two\.example resolves to"):
        await UntrustedClient(resolve=resolve).send(
            FetchRequest("GET", parse_url("http://two.example/")), AddressPolicy(), RequestLimits()
        )


async def test_R_7_5_a_host_name_is_resolved_once_so_that_it_cannot_be_rebound() -> None:
    """A rebinding name is public when it is checked, and this machine when it would be connected to."""
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["192.0.2.77"] if len(asked) == 1 else ["127.0.0.1"]

    async with playing(answers(OK)) as server:
        url = f"http://rebind.example:{server.url.rpartition(':')[2]}/"
        there = AddressPolicy(allow=["192.0.2.0/24"])  # stands for the public address, where nobody answers
        with pytest.raises(UntrustedRequestFailed):
            await UntrustedClient(resolve=resolve).send(
                FetchRequest("GET", parse_url(url)), there, RequestLimits(connect_timeout=0.2)
            )
        assert (asked, server.visits) == (["rebind.example"], [])

        with pytest.raises(AddressForbidden):
            await UntrustedClient(resolve=resolve).send(
                FetchRequest("GET", parse_url(url)), there, RequestLimits(connect_timeout=0.2)
            )

    assert server.visits == []


def port_of(server: Server) -> str:
    return server.url.rpartition(":")[2]


@pytest.mark.parametrize(
    ("allow", "url", "may"),
    [
        (lambda port: f"127.0.0.1:{port}", lambda port: f"http://127.0.0.1:{port}/", True),
        (lambda port: f"127.0.0.1:{port}", lambda port: f"http://2130706433:{port}/", True),
        (lambda port: f"127.0.0.1:{int(port) - 1}", lambda port: f"http://127.0.0.1:{port}/", False),
        (lambda port: f"127.0.0.2:{port}", lambda port: f"http://127.0.0.1:{port}/", False),
        (lambda port: f"127.0.0.1:{port}", lambda port: f"http://api.internal:{port}/", False),
        (lambda port: f"api.internal:{port}", lambda port: f"http://api.internal:{port}/", True),
        (lambda port: f"api.internal:{port}", lambda port: f"http://API.internal.:{port}/", True),
        (lambda port: f"api.internal:{port}", lambda port: f"http://127.0.0.1:{port}/", False),
        (lambda port: f"[::1]:{port}", lambda port: f"http://127.0.0.1:{port}/", False),
    ],
)
async def test_R_3_9_only_the_confirmed_host_and_port_is_allowed(
    allow: Callable[[str], str], url: Callable[[str], str], may: bool
) -> None:
    async with playing(answers(OK)) as server:
        policy = AddressPolicy(allow=[allow(port_of(server))])
        sending = UntrustedClient(resolve=to_loopback).send(
            FetchRequest("GET", parse_url(url(port_of(server)))), policy, RequestLimits(timeout=3)
        )
        if may:
            assert (await sending).content == b"secret"
        else:
            with pytest.raises(AddressForbidden):
                await sending

    assert bool(server.visits) == may


@pytest.mark.parametrize("entry", ["127.0.0.1:0", "127.0.0.1:70000", "a b:80", "256.1.1.1:80", "-x:80"])
def test_R_3_9_a_confirmed_target_must_be_a_host_and_a_port(entry: str) -> None:
    with pytest.raises(ValueError, match="not a valid host:port"):
        AddressPolicy(allow=[entry])


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1", "::ffff:8.8.8.8"],
)
def test_R_7_5_public_addresses_are_allowed_and_embedded_ipv4_addresses_checked(address: str) -> None:
    number = IPv6Address(address) if ":" in address else IPv4Address(address)

    assert AddressPolicy().explain_refusal(number) is None
