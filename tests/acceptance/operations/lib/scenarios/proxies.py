"""nginx and HAProxy in front, with TLS and HTTP/2 to the client."""

import asyncio
import statistics
import subprocess
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import aiohttp
import httpx
from model import Script, faults
from runs import Completion, complete, take_completion
from services import HAProxy, Nginx
from stage import Finding, Stage

IDLE_S = 12.0
"""Stands for ten minutes: keep-alives come each second here (15 s by default), and the proxy gives up after 4 s (1 h as shipped)."""
PROXY_TIMEOUT_S = 4

NGINX = """
  upstream rightseat {{ {servers} keepalive 64; }}
  server {{
    listen 127.0.0.1:{{port}} ssl http2;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    client_max_body_size 32m;
    location / {{
      proxy_pass http://rightseat;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout {timeout}s;
      proxy_send_timeout {timeout}s;
    }}
  }}
"""
HAPROXY = """
defaults
  mode http
  timeout connect 2s
  timeout client {timeout}s
  timeout server {timeout}s
frontend web
  bind 127.0.0.1:{{port}} ssl crt {both} alpn h2,http/1.1
  option forwardfor
  default_backend rightseat
backend rightseat
  balance roundrobin
  option httpchk
  http-check send meth GET uri /ready ver HTTP/1.1 hdr Host localhost
  option redispatch
  retry-on conn-failure
{servers}
"""


def certificate(folder: Path) -> tuple[Path, Path, Path]:
    key, own, both = folder / "tls.key", folder / "tls.crt", folder / "tls.pem"
    if not both.exists():
        command = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            key,
            "-out",
            own,
            "-days",
            "2",
        ]
        subprocess.run([*command, "-subj", "/CN=localhost"], check=True, capture_output=True)
        both.write_text(own.read_text() + key.read_text())
    return own, key, both


async def in_front(stage: Stage, kind: str, count: int = 1, timeout: int = PROXY_TIMEOUT_S, **changes) -> str:
    """Servers with a folder each (one) or with PostgreSQL and Redis (several), and the proxy's address."""
    own, key, both = certificate(stage.world.folder)
    if count == 1:
        stage.server(stage.configuration(**changes)).launch()
        await stage.servers[0].ready()
    else:
        name = await stage.world.database()
        postgres, redis = await stage.world.postgres(), await stage.world.redis()
        await stage.fleet(postgres.url(name), redis.url, count=count, **changes)
    if kind == "nginx":
        servers = " ".join(f"server 127.0.0.1:{server.port};" for server in stage.servers)
        daemon = Nginx(stage.world.folder, NGINX.format(servers=servers, certificate=own, key=key, timeout=timeout))
    else:
        servers = "\n".join(
            f"  server s{server.port} 127.0.0.1:{server.port} check inter 1s fall 2" for server in stage.servers
        )
        daemon = HAProxy(stage.world.folder, HAPROXY.format(servers=servers, both=both, timeout=timeout))
    await stage.launch(daemon)
    await asyncio.sleep(1.5)  # the first health check
    return f"https://127.0.0.1:{daemon.port}"


async def stream(client: httpx.AsyncClient, url: str, script: Script, stop_after: int | None = None) -> Completion:
    """One chat completion over HTTP/2; `stop_after`: the client goes away after so many tokens."""
    result, began = Completion(), time.monotonic()
    body = {"model": "plain", "stream": True, "messages": [{"role": "user", "content": script.prompt()}]}
    last = began
    async with client.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=30) as answer:
        result.status = answer.status_code
        if answer.status_code != 200:
            result.error = (await answer.aread()).decode()[:100]
            return result
        assert answer.http_version == "HTTP/2", f"the client got {answer.http_version}"
        rest = b""
        async for data in answer.aiter_raw():
            now = time.monotonic()
            result.gap, last = max(result.gap, now - last), now
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    take_completion(result, line[5:].strip(), now, began)
            if stop_after and len(result.arrivals) >= stop_after:
                return result
    return result


async def idle(stage: Stage, found: Finding, kind: str) -> None:
    url = await in_front(stage, kind)
    script = Script(uuid.uuid4().hex[:8], 10, 10.0, pause_at=5, pause=IDLE_S)
    async with httpx.AsyncClient(http2=True, verify=False) as client:
        result = await stream(client, url, script)
    found.figures |= {"idle s": IDLE_S, "longest gap s": round(result.gap, 1)}
    found.expect(result.done and not faults(script, result.text), f"not complete: {result.error or result.text[:60]!r}")
    found.expect(
        result.gap <= 2.5, f"no byte for {result.gap:.1f} s, at most 2.5 expected with a keep-alive each second"
    )


async def unbuffered(stage: Stage, found: Finding, kind: str) -> None:
    url = await in_front(stage, kind)
    script = Script(uuid.uuid4().hex[:8], 60, 20.0)
    async with httpx.AsyncClient(http2=True, verify=False) as client:
        result = await stream(client, url, script)
    sent = stage.world.model.of(script.name)[0].sent
    delays = [came - went for came, went in zip(result.arrivals, sent, strict=False)]
    found.expect(len(result.arrivals) == 60, f"{len(result.arrivals)} of 60 pieces came one by one")
    if delays:
        worst = sorted(delays)[int(len(delays) * 0.95)]
        found.figures |= {"median delay ms": round(1000 * statistics.median(delays)), "p95 ms": round(1000 * worst)}
        found.expect(worst <= 0.3, f"p95 of the delay of a piece is {worst:.2f} s, at most 0.3 expected")


async def disconnect(stage: Stage, found: Finding, kind: str) -> None:
    url = await in_front(stage, kind)
    delays = []
    for _ in range(5):
        script = Script(uuid.uuid4().hex[:8], 300, 10.0)
        client = httpx.AsyncClient(http2=True, verify=False)
        with suppress(httpx.HTTPError):
            await stream(client, url, script, stop_after=5)
        await client.aclose()
        gone = time.monotonic()
        call = stage.world.model.of(script.name)[0]
        while call.closed is None and time.monotonic() < gone + 5:
            await asyncio.sleep(0.02)
        delays.append((call.closed or gone + 99) - gone)
    found.figures["model stopped after s"] = [round(delay, 2) for delay in delays]
    found.expect(
        max(delays) <= 1, f"the model was still asked {max(delays):.1f} s after the client had gone, at most 1 expected"
    )


async def address(stage: Stage, found: Finding, kind: str) -> None:
    limits = [{"name": "per-address", "subject": "address", "requests": {"most": 3, "per": "10m"}}]
    url = await in_front(stage, kind, limits=limits)
    seen: dict[str, list[int]] = {}
    for who in ("127.0.0.2", "127.0.0.3"):
        async with httpx.AsyncClient(
            transport=httpx.AsyncHTTPTransport(http2=True, verify=False, local_address=who)
        ) as client:
            for number in range(4):
                body = {"model": "plain", "messages": [{"role": "user", "content": "hello"}]}
                forged = {"X-Forwarded-For": f"9.9.9.{number}"} if number else {}
                answer = await client.post(f"{url}/v1/chat/completions", json=body, headers=forged, timeout=20)
                seen.setdefault(who, []).append(answer.status_code)
    found.figures["statuses"] = seen
    found.expect(
        all(codes == [200, 200, 200, 429] for codes in seen.values()),
        f"200, 200, 200, 429 for each address expected, came {seen}",
    )


async def rolling(stage: Stage, found: Finding) -> None:
    """Three servers restarted one after the other behind HAProxy, 40 streams of 12 s and 60 short ones: 100 of 100 complete, no 5xx."""
    url = await in_front(stage, "haproxy", count=3, timeout=60)
    results: list[tuple[Script, Completion]] = []
    connector = aiohttp.TCPConnector(limit=0, ssl=False)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def one(script: Script, wait: float) -> None:
            await asyncio.sleep(wait)
            results.append((script, await complete(session, url, script)))

        long = [Script(uuid.uuid4().hex[:8], 60, 5.0) for _ in range(40)]
        short = [Script(uuid.uuid4().hex[:8], 10, 10.0) for _ in range(60)]
        tasks = [asyncio.create_task(one(script, number * 0.5)) for number, script in enumerate(long)]
        tasks += [asyncio.create_task(one(script, number * 0.5)) for number, script in enumerate(short)]
        await asyncio.sleep(4)
        took = []
        for server in stage.servers:
            began = time.monotonic()
            code = await server.drain(60)
            took.append(round(time.monotonic() - began, 1))
            found.expect(code in (0, -15), f"a server ended with {code} after SIGTERM, 0 or the signal expected")
            server.launch()
            await server.ready()
            await asyncio.sleep(2.5)
        await asyncio.gather(*tasks)
    good = sum(result.done and not faults(script, result.text) for script, result in results)
    wrong = sorted({f"{result.status} {result.error}" for script, result in results if not result.done})
    found.figures |= {"complete": good, "of": len(results), "drained in s": took}
    found.expect(good == len(results), f"{good} of {len(results)} complete: {wrong[:4]}")


def _named(play: Callable, doc: str) -> Callable:
    play.__doc__ = doc
    return play


SCENARIOS: dict[str, Callable] = {}
for _kind in ("nginx", "haproxy"):
    SCENARIOS |= {
        f"{_kind}-idle": _named(
            partial(idle, kind=_kind),
            f"{_kind}, TLS, HTTP/2: a stream that is silent three times longer than the proxy waits completes; a byte at least each 2.5 s.",
        ),
        f"{_kind}-unbuffered": _named(
            partial(unbuffered, kind=_kind),
            f"{_kind}: 60 pieces at 20 a second arrive one by one, p95 at most 0.3 s after the model sent them.",
        ),
        f"{_kind}-disconnect": _named(
            partial(disconnect, kind=_kind),
            f"{_kind}: the client goes away, and the model is left within 1 s, 5 times of 5.",
        ),
        f"{_kind}-address": _named(
            partial(address, kind=_kind),
            f"{_kind}: a limit per address counts each client's own, forged headers notwithstanding.",
        ),
    }
SCENARIOS["rolling-restart"] = rolling
