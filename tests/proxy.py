"""Proxies on real sockets: a forward proxy (CONNECT, and requests whose target is a whole address), and one for TLS."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class Proxy:
    """`lines` are the request lines that came, `authorizations` what each said of who asks."""

    url: str = ""
    lines: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)


@asynccontextmanager
async def proxying(authorization: str | None = None) -> AsyncIterator[Proxy]:
    """With an `authorization`, others are refused with 407. Names are connected to as 127.0.0.1."""
    proxy = Proxy()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await relay(proxy, authorization, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(serve(reader, writer)))

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)


async def relay(proxy: Proxy, wanted: str | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    line, *fields = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    proxy.lines.append(line)
    proxy.authorizations.append(headers.get("proxy-authorization"))
    if wanted is not None and headers.get("proxy-authorization") != wanted:
        writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        return
    method, target, _ = line.split(" ")
    port = int(target.rpartition(":")[2]) if method == "CONNECT" else urlsplit(target).port
    there, back = await asyncio.open_connection("127.0.0.1", port)
    if method == "CONNECT":
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    else:
        parts = urlsplit(target)
        kept = "\r\n".join(field for field in fields if not field.lower().startswith("proxy-"))
        back.write(f"{method} {parts.path} HTTP/1.1\r\n{kept}\r\n\r\n".encode())
    try:
        await asyncio.gather(copy(reader, back), copy(there, writer))
    finally:
        back.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
    writer.close()


@asynccontextmanager
async def terminating(tls: ssl.SSLContext, port: int) -> AsyncIterator[int]:
    """The port of a server that decrypts, and passes everything on to the server at `port` of this machine."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(copy(reader, back), copy(there, writer))
        except (ConnectionError, ssl.SSLError):
            pass  # the client refused our certificate, or has none
        finally:
            back.close()
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
