"""What ends with its credential, on every face and every server; and where secrets and configured servers could lead."""

import json
import subprocess
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fakes import Mcp, Web, chunk, reply, say
from judging import SLACK, all_of, check, scenario, short
from stage import Server, Stage, run_input, unique, until

from scenarios.budgets import write_mutation
from scenarios.newer import MARK, ROOT, Followed, Provider, serve

OPERATOR = {"name": "root", "key": ROOT, "user": "root", "scopes": ["*", "operator.*:*"]}
ENDED = 5.0  # seconds within which what a credential has opened must have ended
WHY = "API key that asked for it was revoked"
PROGRAM = Path(__file__).resolve().parents[4] / ".venv" / "bin" / "rightseat"


def talk_on(_: Any) -> Iterator[bytes]:
    """A model that talks for a minute."""
    for _ in range(240):
        yield chunk({"content": "word "})
        time.sleep(0.25)
    yield from say("")


def make_key(server: Server, name: str, **more: Any) -> str:
    status, _, text = server.post("/operator/access/keys", {"name": name, "scopes": ["*", "operator.watch:*", "operator.read:*"], **more}, key=ROOT, headers=MARK)
    check(status == 201, f"expected a new key, but {status} {short(text)}")
    key: str = json.loads(text)["key"]
    return key


def revoke(server: Server, name: str) -> None:
    status = server.post(f"/operator/access/keys/{name}/revoke", b"", key=ROOT, headers=MARK)[0]
    check(status == 204, f"the key {name} was not revoked: {status}")


# ---- revoked means ended


def chats_of(question: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """By face: a request that streams an answer to this question."""
    turn = [{"role": "user", "content": question}]
    part = {"id": unique("chat"), "messages": [{"id": unique("m"), "role": "user", "parts": [{"type": "text", "text": question}]}]}
    return {
        "copilotkit": ("/copilotkit/agent/plain/run", run_input(question)),
        "openai": ("/v1/chat/completions", {"model": "plain", "messages": turn, "stream": True}),
        "responses": ("/v1/responses", {"model": "plain", "input": question, "stream": True}),
        "ai sdk": ("/api/chat", part),
        "openbb": ("/openbb/v1/query/plain", {"messages": [{"role": "human", "content": question}]}),
        "graphql": ("/copilotkit", write_mutation(question)),
        "openai, at once": ("/v1/chat/completions", {"model": "plain", "messages": turn}),
    }


class Chats:
    """The same question on every face with one key, each with a model of its own."""

    def __init__(self, stage: Stage, server: Server, key: str) -> None:
        self.texts: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self._stage, self._server, self._key = stage, server, key
        for face in chats_of(""):
            tag = stage.says(talk_on)
            self.tags[face] = tag.strip("[]")
            path, body = chats_of(f"talk {tag}")[face]
            threading.Thread(target=self._read, args=(face, path, body), daemon=True).start()

    def _read(self, face: str, path: str, body: dict[str, Any]) -> None:
        with suppress(OSError, HTTPException):  # the server is killed while the chat goes on
            self.texts[face] = self._server.post(path, body, key=self._key, timeout=90)[2]

    def have_begun(self) -> bool:
        return all(self._stage.model.open[tag] for tag in self.tags.values())

    def list_open(self) -> list[str]:
        return [face for face, tag in self.tags.items() if self._stage.model.open[tag] or face not in self.texts]


@scenario("revoked-key-cancels-its-chats")
def revoked_chats(stage: Stage) -> None:
    """Chats on seven faces that run with a key which is revoked: within 5 s each response has ended with the reason, and the request to the model is closed; a chat with another key goes on."""
    with serve(stage, RS_ANSWER_SECONDS="90") as server:
        chats, others = Chats(stage, server, make_key(server, "leaver")), Chats(stage, server, "alice")
        check(until(lambda: chats.have_begun() and others.have_begun(), 20 * SLACK), "the chats did not begin")
        revoke(server, "leaver")
        until(lambda: not chats.list_open(), ENDED * SLACK)
        wrong = [f"{face}: still open after {ENDED * SLACK:g} s" for face in chats.list_open()]
        wrong += [f"{face}: ends without the reason: {short(text[-200:])}" for face, text in chats.texts.items() if WHY not in text]
        wrong += [f"{face}: the chat of another key has ended too" for face in others.texts]
        all_of(wrong)


@scenario("revoked-key-lets-its-chats-finish")
def kept_chats(stage: Stage) -> None:
    """The same where the operator has configured `revoked_runs: finish`: no chat has ended 8 s later, and the key is refused."""
    with serve(stage, {"access": {"revoked_runs": "finish", "keys": [OPERATOR]}}, RS_ANSWER_SECONDS="90") as server:
        key = make_key(server, "leaver")
        chats = Chats(stage, server, key)
        check(until(chats.have_begun, 20 * SLACK), "the chats did not begin")
        revoke(server, "leaver")
        time.sleep(8)
        check(server.get("/operator/me", key=key)[0] == 401, "the revoked key is still taken")
        all_of([f"{face}: has ended: {short(text[-200:])}" for face, text in chats.texts.items()])


@contextmanager
def pair(stage: Stage, more: dict[str, Any] | None = None) -> Iterator[tuple[Server, Server]]:
    """Two servers of a fleet: one PostgreSQL, one Redis, and the same secret of sessions."""
    secret = stage.folder / unique("session.key")
    overlay = {"faces": [{"type": "operator", "session_key": str(secret), "edit": True}], **(more or {})}
    environment = {**stage._profile("fleet"), "RS_OVERLAY": json.dumps(overlay | {"access": {"keys": [OPERATOR]}}), "RS_ANSWER_SECONDS": "90"}
    with stage.fresh("first", **environment) as first, stage.fresh("second", **environment) as second:
        yield first, second


@scenario("signed-out-on-two-servers", alone=True)
def signed_out_everywhere(stage: Stage) -> None:
    """Two servers with one PostgreSQL: a session that signs out on one is refused by the other within 5 s, and its open event stream there ends; another session goes on."""
    with pair(stage) as (first, second):
        cookies = []
        for _ in range(2):
            _, heads, _ = first.post("/operator/session", b"", key=ROOT, headers=MARK)
            cookies.append({"cookie": heads["set-cookie"].split(";")[0]})
        check(second.get("/operator/me", headers=cookies[0])[0] == 200, "the other server does not take the session")
        streams = [CookieStream(second, cookie["cookie"]) for cookie in cookies]
        check(until(lambda: all("200 OK" in stream.text for stream in streams), 5 * SLACK), "the streams did not open")
        check(first.request("DELETE", "/operator/session", headers={**cookies[0], **MARK})[0] in (200, 204), "signing out was refused")
        check(first.get("/operator/me", headers=cookies[0])[0] == 401, "the server that was signed out from still takes the cookie")
        refused = until(lambda: second.get("/operator/me", headers=cookies[0])[0] == 401, ENDED * SLACK)
        check(refused, f"the other server still takes the cookie after {ENDED * SLACK:g} s")
        check(until(lambda: streams[0].is_closed, ENDED * SLACK), "the open stream of the session does not end on the other server")
        check(second.get("/operator/me", headers=cookies[1])[0] == 200 and not streams[1].is_closed, "another session has ended too")


class CookieStream:
    """The event stream of the console with the cookie of a session, read as it comes."""

    def __init__(self, server: Server, cookie: str) -> None:
        self.text, self.is_closed = "", False
        self._connection = server.connect()
        self._connection.settimeout(None)
        self._connection.sendall(f"GET /operator/live HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode())
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while piece := self._connection.recv(65536):
            self.text += piece.decode("utf-8", "replace")
            if piece.endswith(b"\r\n0\r\n\r\n") or piece == b"0\r\n\r\n":
                break
        self.is_closed = True


@scenario("revoked-on-two-servers", alone=True)
def revoked_everywhere(stage: Stage) -> None:
    """Two servers with one PostgreSQL: a key that is revoked on one ends its event stream and its chats on the other within 5 s, those of a durable agent too."""
    with pair(stage) as (first, second):
        key, tag, durable = make_key(first, "leaver"), stage.says(talk_on), stage.says(talk_on)
        check(until(lambda: second.get("/operator/me", key=key)[0] == 200, ENDED * SLACK), "the other server does not know the key")
        stream = Followed(second, "/operator/live", key)
        for agent, said in (("plain", tag), ("lasting", durable)):
            threading.Thread(target=ask_quietly, args=(second, agent, f"talk {said}", key), daemon=True).start()
        tags = [said.strip("[]") for said in (tag, durable)]
        check(until(lambda: all(stage.model.open[one] for one in tags) and "200 OK" in stream.text, 20 * SLACK), "nothing began")
        revoke(first, "leaver")
        until(lambda: not any(stage.model.open[one] for one in tags) and "\r\n0\r\n\r\n" in stream.text, ENDED * SLACK)
        all_of([f"a request to the model is open after {ENDED * SLACK:g} s" for one in tags if stage.model.open[one]])
        check(stream.is_closed or "\r\n0\r\n\r\n" in stream.text, "the event stream on the other server does not end")


def ask_quietly(server: Server, agent: str, question: str, key: str) -> None:
    with suppress(OSError, HTTPException):
        server.run(agent, question, unique(), key, timeout=90)


# ---- secrets in what is kept and told


def run_command(server: Server, *arguments: str) -> bytes:
    """A command with the server's configuration and environment."""
    configuration = Path(server.environment["RS_SCRATCH_DIR"]) / "security.yaml"
    done = subprocess.run([str(PROGRAM), *arguments, "--config", str(configuration)], env=dict(server.environment), capture_output=True, timeout=60 * SLACK, check=False)
    check(done.returncode == 0, f"{' '.join(arguments[:2])} failed: {short(done.stderr.decode())}")
    return done.stdout + done.stderr


def read_archive(file: Path) -> bytes:
    with tarfile.open(file) as archive:
        return b"\n".join(member.read() for entry in archive if (member := archive.extractfile(entry)) is not None)


@scenario("secrets-in-what-is-kept")
def kept_secrets(stage: Stage) -> None:
    """With log lines as text and as JSON, and traces over OTLP: no secret of a model, an MCP server, a plugin, a key or a session is in the log, the traces, a backup, an exported thread or a downloaded one, although the API and the MCP server repeat what they were sent."""
    for log_format in ("plain", "json"):
        collector, api, folder = Web(), Echo(), stage.folder / unique("kept") / "plugins"
        write_plugin(folder, api)
        more = {
            "toolboxes": {"echoes": {"type": "plugins", "folders": [str(folder)], "allow_private": {"echo": [api.place]}, "secrets": [{"name": "ECHO", "plugins": ["echo"], "hosts": [api.place]}]}},
            "agents": {"echo": {"type": "flows", "toolbox": "echoes", "flow": "echo.ping", "suggestions": False}},
            "telemetry": {"traces": f"{collector.url}/v1/traces", "log_format": log_format, "log_level": "debug"},
        }
        secret = "canary-echo-5f2c9be1d0a74"
        with serve(stage, more, RIGHTSEAT_SECRET_ECHO=secret) as server:
            key, thread = make_key(server, "keeper"), unique()
            _, heads, _ = server.post("/operator/session", b"", key=key, headers=MARK)
            cookie = heads["set-cookie"].split(";")[0].partition("=")[2]
            server.get("/operator/me", headers={"cookie": f"rightseat={cookie}"})
            server.run("echo", "ping", thread, key=key)
            server.run("plain", f"hello {stage.says(lambda asked: say('heard: ' + asked.heads.decode()))}", thread, key="alice")
            server.run("away", "hello", unique(), key=key)
            check(any(secret in str(hit) for hit in api.hits), "the plugin's secret was not sent to its own host")
            check(until(lambda: collector.hits, 15 * SLACK), "no trace was exported")
            archive = stage.folder / f"{unique('backup')}.tar.gz"
            run_command(server, "backup", str(archive))
            told = {
                "the log": server.logs().encode(),
                "a trace": b"\n".join(body for _, _, _, body in collector.hits),
                "the backup": read_archive(archive),
                "an exported thread": run_command(server, "threads", "export", thread),
                "a downloaded thread": server.get(f"/operator/threads/{thread}", key=ROOT)[2].encode(),
            }
            secrets = {"plugin": secret, "key": key, "session": cookie.rpartition(".")[2], "MCP": server.environment["RS_SECRET_MCP"]}
            all_of([f"{place} ({log_format}) has the secret of: {name}" for place, text in told.items() for name, value in secrets.items() if value.encode() in text])
            check(oct(archive.stat().st_mode & 0o777) == "0o600", "others can read the backup")


class Echo(Web):
    """An API that repeats what it was sent."""

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def answer(self, method: str, path: str, heads: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        return reply({"heard": heads})


def write_plugin(folder: Path, api: Echo) -> None:
    home = folder / "echo"
    home.mkdir(parents=True)
    auth = {"type": "header", "args": {"Authorization": "Bearer ${secret:ECHO}"}}
    about = {"id": "echo", "name": "Echo", "description": "Repeats.", "version": "1.0.0", "automatic_flow": True, "auth": auth, "network": {"allow_private": [api.place]}}
    get = {"operationId": "ping", "summary": "ping", "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}}
    document = {"openapi": "3.1.0", "info": {"title": "echo", "version": "1"}, "servers": [{"url": api.url}], "paths": {"/ping": {"get": get}}}
    (home / "plugin.json").write_text(json.dumps(about))
    (home / "openapi.yaml").write_text(json.dumps(document))


@scenario("secret-of-a-plugin-whose-host-changes")
def changed_host(stage: Stage) -> None:
    """An author changes the server of a plugin that has a bound secret: the secret is not sent to the new host, the log names plugin, secret, host and the line to add, and so does a dry run."""
    api, trap, folder = Echo(), Web(), stage.folder / unique("moved") / "plugins"
    write_plugin(folder, api)
    places = [api.place, f"127.0.0.1:{trap.port}"]
    about = json.loads((folder / "echo" / "plugin.json").read_text()) | {"network": {"allow_private": places}}
    (folder / "echo" / "plugin.json").write_text(json.dumps(about))
    more = {
        "toolboxes": {"echoes": {"type": "plugins", "folders": [str(folder)], "allow_private": {"echo": places}, "secrets": [{"name": "ECHO", "plugins": ["echo"], "hosts": [api.place]}]}},
        "agents": {"echo": {"type": "flows", "toolbox": "echoes", "flow": "echo.ping", "suggestions": False}},
    }
    author, secret = "key-author-0123456789", "canary-echo-5f2c9be1d0a74"
    with serve(stage, more, RIGHTSEAT_SECRET_ECHO=secret) as server:
        server.run("echo", "ping", key="alice")
        check(any(secret in str(hit) for hit in api.hits), "the secret was not sent to the host that it is bound to")
        _, heads, text = server.get("/operator/plugins/echo/files/openapi.yaml", key=author)
        moved = text.replace(api.url, trap.url)
        status = server.request("PUT", "/operator/plugins/echo/files/openapi.yaml", {"text": moved}, headers={**MARK, "if-match": heads["etag"]}, key=author)[0]
        check(status == 200, f"the author could not save: {status}")
        tried = server.post("/operator/drafts/try", {"plugin": "echo", "flow": "ping", "question": "ping"}, headers=MARK, key=author)[2]
        server.run("echo", "ping", key="alice")
        check(not any(secret in str(hit) for hit in trap.hits), "the secret was sent to the host that the author named")
        line = f'- {{name: ECHO, plugins: [echo], hosts: ["127.0.0.1:{trap.port}"]}}'
        check(line in server.logs(), "the operator's log does not have the line to add")
        check("it is not bound to them" in tried, f"the dry run does not say it: {short(tried[-300:])}")


# ---- servers that the operator has configured, and that lead elsewhere


class Misleading(Provider):
    """An OpenID provider that answers at one path with a redirect."""

    def __init__(self, path: str, to: str) -> None:
        super().__init__()
        self._misleading, self._to = path, to

    def answer(self, method: str, path: str, heads: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        if path == self._misleading:
            return 307, {"location": self._to}, b""
        return super().answer(method, path, heads, body)


@scenario("redirects-of-configured-servers")
def redirects(stage: Stage) -> None:
    """The webhook of budgets, an MCP server, and an OpenID provider (discovery document, keys) answer with a redirect to an internal address: it is not visited, and no secret is sent there."""
    trap = Web()
    hook = type("Hook", (Web,), {"answer": lambda self, *_: (307, {"location": f"{trap.url}/hook"}, b"")})()
    budget = {"limits": [{"name": "total", "subject": "everyone", "tokens_per_day": 5_000}], "limits_webhook": {"url": f"{hook.url}/budgets", "api_key": "canary-hook-5f2c9be1d0a74"}}
    with serve(stage, budget) as server:
        server.chat("plain", "hello")  # the reservation of its call is more than 80 % of the budget
        check(until(lambda: hook.hits, 10 * SLACK), f"the webhook was not called: {short(server.logs()[-300:])}")
    leading = Mcp()
    leading.redirect = f"{trap.url}/mcp"
    box = {"type": "mcp", "name": "led", "url": f"{leading.url}/mcp", "cache_seconds": 0, "headers": {"authorization": "Bearer canary-mcp-5f2c9be1d0a74"}}
    with serve(stage, {"toolboxes": {"led": box}, "agents": {"led": {"model": "default", "toolboxes": ["led"]}}}) as server:
        server.run("led", "hello", key="alice")
        check(leading.hits, "the MCP server was not asked")
    for path in ("/.well-known/openid-configuration", "/jwks", "/token"):
        provider = Misleading(path, f"{trap.url}{path}")
        oidc = {"issuer": provider.url, "client_id": "console", "client_secret": "canary-oidc-5f2c9be1d0a74", "grants": [{"scopes": ["*"]}]}
        with serve(stage, {"access": {"keys": [], "oidc": oidc}, "server": {"public_url": "https://console.example.com"}}) as server:
            host = {"host": "console.example.com", "x-forwarded-proto": "https"}
            _, heads, _ = server.get("/sign-in/start", headers=host)
            if "state=" in heads.get("location", ""):
                finish(server, provider, heads, host)
            check(provider.hits, "the provider was not asked")
    all_of([f"{method} {path} was visited after a redirect" for method, path, _, _ in trap.hits])


def finish(server: Server, provider: Provider, heads: dict[str, str], host: dict[str, str]) -> None:
    query = {name: values[0] for name, values in parse_qs(urlsplit(heads["location"]).query).items()}
    cookie = heads["set-cookie"].split(";")[0]
    server.get(f"/sign-in/callback?code={provider.grant(query)}&state={query['state']}", headers={**host, "cookie": cookie})
