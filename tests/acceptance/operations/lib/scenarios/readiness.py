"""`GET /ready`: 503 with the cause when the server cannot do its work, 200 again without a restart."""

import asyncio
import re
import socket
import struct
import sys

import psycopg
from fleet import Server
from stage import Finding, Stage, until


async def watch(found: Finding, server: Server, cause: str, within: float) -> None:
    """503 within so many seconds, with a cause that matches."""
    seen = {}

    async def unready() -> bool:
        seen["status"], seen["body"] = await server.read("/ready")
        return seen["status"] == 503

    found.figures["503 after s"] = await until(unready, within)
    found.expect(seen["status"] == 503, f"/ready {seen['status']} for {within:.0f} s, 503 expected")
    if seen["status"] == 503:
        found.figures["cause"] = re.sub(r"\s+", " ", seen["body"])[:160]
        found.expect(bool(re.search(cause, seen["body"], re.I)), f"the cause does not match {cause}")


async def recover(found: Finding, server: Server, within: float) -> None:
    pid = server.process.pid

    async def ready() -> bool:
        return await server.get("/ready") == 200

    found.figures["200 after s"] = await until(ready, within)
    found.expect(found.figures["200 after s"] is not None, f"not ready again within {within:.0f} s")
    found.expect(server.process.poll() is None and server.process.pid == pid, "the server did not stay alive")


async def one_server(stage: Stage) -> Server:
    name = await stage.world.database()
    stage.postgres, stage.redis = await stage.world.postgres(), await stage.world.redis()
    stage.database_name = name
    stage.database_proxy = await stage.proxy(stage.postgres.port)
    server = (await stage.fleet(stage.postgres.url(name, stage.database_proxy.port), stage.redis.url, count=1))[0]
    assert await until(lambda: is_ready(server), 10) is not None, "never ready"
    return server


async def is_ready(server: Server) -> bool:
    return await server.get("/ready") == 200


async def standby(stage: Stage, found: Finding) -> None:
    """Only a standby behind the address: 503 within 5 s that says read-only; 200 within 5 s when the primary is back."""
    server = await one_server(stage)
    spare = await stage.world.standby(stage.postgres)
    stage.database_proxy.turn(spare.port)
    await watch(found, server, r"read.?only|recovery|standby", 5)
    stage.database_proxy.turn(stage.postgres.port)
    await recover(found, server, 5)


async def read_only(stage: Stage, found: Finding) -> None:
    """The database refuses writes, as a managed one with a full disk does: 503 within 2 leases, 200 within 2 leases after."""
    server = await one_server(stage)
    base = f"ALTER DATABASE {stage.database_name} "
    cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{stage.database_name}'"
    await asyncio.to_thread(stage.postgres.execute, base + "SET default_transaction_read_only = on")
    await asyncio.to_thread(stage.postgres.execute, cut)
    await watch(found, server, r"read.?only|lease|write", 2 * stage.lease)
    await asyncio.to_thread(stage.postgres.execute, base + "RESET default_transaction_read_only")
    await asyncio.to_thread(stage.postgres.execute, cut)
    await recover(found, server, 2 * stage.lease)


async def writes_hang(stage: Stage, found: Finding) -> None:
    """Reads answer and writes wait (a lock on every table), so the lease cannot be renewed: 503 within 2 leases that names the lease."""
    server = await one_server(stage)
    url = stage.postgres.url(stage.database_name)
    connection = await asyncio.to_thread(psycopg.connect, url)
    try:
        rows = await asyncio.to_thread(
            lambda: connection.execute(
                "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
            ).fetchall()
        )
        tables = ", ".join(row[0] for row in rows)
        await asyncio.to_thread(connection.execute, f"LOCK TABLE {tables} IN EXCLUSIVE MODE")
        await watch(found, server, r"lease", 2 * stage.lease + 2)
    finally:
        await asyncio.to_thread(connection.close)
    await recover(found, server, 2 * stage.lease)


async def folder_gone(stage: Stage, found: Finding) -> None:
    """The state folder of a server on SQLite is gone: 503 within 5 s that names it; 200 within 5 s when it is back."""
    state = stage.world.folder / f"{stage.name}-state"
    server = stage.server(stage.configuration(), state)
    server.launch()
    await server.ready()
    state.rename(state.with_suffix(".away"))
    await watch(found, server, r"state|folder|directory|no such file", 5)
    if state.exists():
        found.figures["made again"] = len(list(state.iterdir()))
        await asyncio.to_thread(lambda: state.rename(state.with_suffix(".new")))
    state.with_suffix(".away").rename(state)
    await recover(found, server, 5)


async def crash_loop(stage: Stage, found: Finding) -> None:
    """The model server that rightseat starts dies at once, again and again (SIGILL): 503 within 20 s that says so; 200 within 60 s when it lives."""
    folder = stage.world.folder / f"{stage.name}-model"
    folder.mkdir()
    weights, binary = folder / "tiny.gguf", folder / "llama-server"
    weights.write_bytes(tiny_gguf())
    binary.write_text("#!/bin/sh\nkill -ILL $$\n")
    binary.chmod(0o755)
    changes = stage.configuration()
    changes["models"] = {
        "default": {
            "type": "completion",
            "backend": {"type": "llama_cpp", "model": str(weights), "binary": str(binary)},
        }
    }
    server = stage.server(changes)
    server.launch()
    await server.ready()
    await watch(found, server, r"model_crashed|crash|SIGILL|signal 4|instruction", 20)
    binary.write_text(LIVING.format(python=sys.executable))
    await recover(found, server, 60)


LIVING = """#!{python}
import http.server, sys

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{{"status": "ok"}}')

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Answer).serve_forever()
"""
"""A model server that is up, and can do nothing else."""


def tiny_gguf() -> bytes:
    """A header with a name, a vocabulary of four and no tensors: enough to be read, not to be loaded."""
    out = bytearray()

    def text(value: str) -> bytes:
        data = value.encode()
        return struct.pack("<Q", len(data)) + data

    entries = [
        text("general.architecture") + struct.pack("<I", 8) + text("llama"),
        text("general.name") + struct.pack("<I", 8) + text("tiny"),
        text("llama.context_length") + struct.pack("<II", 4, 512),
        text("tokenizer.ggml.model") + struct.pack("<I", 8) + text("gpt2"),
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 4) + b"".join(map(text, ("<s>", "</s>", "a", "b"))),
        text("tokenizer.ggml.token_type") + struct.pack("<IIQ", 9, 5, 4) + struct.pack("<4i", 3, 3, 1, 1),
        text("tokenizer.ggml.merges") + struct.pack("<IIQ", 9, 8, 0),
        text("tokenizer.ggml.bos_token_id") + struct.pack("<II", 4, 0),
        text("tokenizer.ggml.eos_token_id") + struct.pack("<II", 4, 1),
        text("tokenizer.chat_template")
        + struct.pack("<I", 8)
        + text("{% for m in messages %}{{ m.content }}{% endfor %}"),
    ]
    out += b"GGUF" + struct.pack("<IQQ", 3, 0, len(entries))
    for entry in entries:
        out += entry
    return bytes(out)


async def old_http(stage: Stage, found: Finding) -> None:
    """HAProxy's plain httpchk (HTTP/1.0, no Host) gets 200 or 503 without a detail; other paths stay closed; 300 polls cost few queries."""
    name = await stage.world.database()
    postgres, redis = await stage.world.postgres(), await stage.world.redis()
    server_settings = {"hosts": ["copilot.example.com"], "shutdown_timeout": 5}
    server = (await stage.fleet(postgres.url(name), redis.url, count=1, wait=False, server=server_settings))[0]

    async def up() -> bool:
        return (await ask(server.port, "GET /health HTTP/1.1\r\nHost: copilot.example.com\r\nConnection: close"))[
            0
        ] == 200

    assert await until(up, 60) is not None, "the server does not answer"
    for path in ("/ready", "/health"):
        status, text = await ask(server.port, f"GET {path} HTTP/1.0")
        found.figures[f"{path} HTTP/1.0"] = status
        found.expect(status == 200, f"GET {path} HTTP/1.0 without Host: {status}, 200 expected")
        found.expect(
            str(postgres.port) not in text and str(redis.port) not in text, f"{path} without Host tells an address"
        )
    status, _ = await ask(server.port, "GET /copilotkit/info HTTP/1.0")
    found.expect(status in (400, 421), f"/copilotkit/info without Host: {status}, 400 or 421 expected")
    status, text = await ask(server.port, "GET /copilotkit/info HTTP/1.1\r\nHost: evil.example\r\nConnection: close")
    found.expect(status in (400, 421), f"/copilotkit/info for another host: {status}, 400 or 421 expected")
    redis.kill()
    await asyncio.sleep(2.5)
    status, text = await ask(server.port, "GET /ready HTTP/1.0")
    found.expect(status == 503, f"/ready HTTP/1.0 while Redis is away: {status}, 503 expected")
    found.expect(str(redis.port) not in text and "127.0.0.1" not in text, "/ready without Host tells an address")
    await asyncio.to_thread(redis.start)
    await asyncio.sleep(2)
    before = await transactions(postgres, name)
    await asyncio.gather(
        *(ask(server.port, "GET /ready HTTP/1.1\r\nHost: copilot.example.com\r\nConnection: close") for _ in range(300))
    )
    await asyncio.sleep(1.5)
    spent = await transactions(postgres, name) - before
    found.figures["transactions for 300 polls"] = spent
    found.expect(spent <= 60, f"{spent} transactions while 300 polls were answered, at most 60 expected")


async def transactions(postgres, name: str) -> int:
    rows = await asyncio.to_thread(
        postgres.execute, f"SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{name}'"
    )
    return rows[0][0]


async def ask(port: int, request: str) -> tuple[int, str]:
    def exchange() -> tuple[int, str]:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(request.encode() + b"\r\n\r\n")
                data = b""
                while chunk := connection.recv(65536):
                    data += chunk
        except OSError:
            return 0, ""
        match = re.match(rb"HTTP/1\.[01] (\d+)", data)
        return (int(match[1]) if match else 0), data.decode(errors="replace")

    return await asyncio.to_thread(exchange)


SCENARIOS = {
    "ready-standby": standby,
    "ready-read-only": read_only,
    "ready-writes-hang": writes_hang,
    "ready-state-folder-gone": folder_gone,
    "ready-model-crash-loop": crash_loop,
    "ready-http-1.0": old_http,
}
