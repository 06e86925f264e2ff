"""The servers under judgement with their neighbours, and a client's few words to them."""

import http.client
import itertools
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fakes import Api, Engines, Issuer, Mcp, Model, Names, Script, Web
from judging import HEALTH, SLACK, Failed, check, short

from tests.acceptance._lib import processes
from tests.acceptance._lib.processes import NotStarted, find_listeners, free_port, inherit, list_descendants, list_sockets, lives, read_resident, serve
from tests.acceptance._lib.services import Postgres, Redis

HERE = Path(__file__).resolve().parent
PLUGINS = HERE.parent / "plugins"

KEYS = {
    "alice": "key-alice-0123456789",
    "bob": "key-bob-0123456789",
    "alice-plain": "key-alice-plain-0123456789",  # alice's, for the agent `plain` on the CopilotKit face alone
    "alice-openai": "key-alice-openai-0123456789",  # alice's, for the agent `plain` on the OpenAI face alone
    "nothing": "key-nothing-0123456789",  # alice's, for nothing
}
SECRETS = {f"RS_SECRET_{name}": f"canary-{name.lower()}-5f2c9be1d0a74" for name in ("MODEL", "HEADER", "EXTRA", "MCP")}
READ, UNREAD, ANSWER, SILENCE, STREAMS = 3.0, 3.0, 12.0, 2.0, 8
VAULT = "vault-canary-8810"
ISSUER, AUDIENCE = "https://issuer.test", "rightseat-security"
TEMPLATES = 12
Answer = tuple[int, dict[str, str], str]
_ids = itertools.count(1)


def unique(prefix: str = "t") -> str:
    return f"{prefix}-{os.getpid()}-{next(_ids)}"


class Server(processes.Server):
    """One rightseat with its children: a process group of its own."""

    def __init__(self, stage: "Stage", name: str, environment: dict[str, str], limits: dict[int, int] | None = None) -> None:
        port = free_port()
        whole = inherit() | {"TMPDIR": str(stage.folder / "tmp")} | environment
        super().__init__(serve("security", port), port, whole, stage.folder / f"{name}-{port}.log", preexec=self._limit)
        self.stage, self.name, self.limits = stage, name, limits or {}
        self.state = Path(environment["RS_STATE_DIR"])

    def start(self, within: float = 45) -> "Server":
        try:
            super().start(within * SLACK)
        except NotStarted as error:
            raise Failed(f"the server did not start: {short(str(error), 600)}") from None
        return self

    def _limit(self) -> None:
        for kind, most in self.limits.items():
            resource.setrlimit(kind, (most, most))

    @property
    def main(self) -> int:
        """The process that listens: what the script started, or became."""
        inodes = set(find_listeners(self.port))
        for pid in self.pids():
            if inodes & list_sockets(pid):
                return pid
        return self.process.pid if self.process else 0

    def pids(self) -> list[int]:
        """The script's process and all below it, whatever session they are in."""
        return family(self.process.pid) if self.process else []

    def memory(self) -> float:
        """Resident MB of the process that listens."""
        return read_resident(self.main) / 1e6

    def logs(self) -> str:
        return self.text()

    def stop(self) -> None:
        below = self.pids()
        super().stop(4)
        end_all(below)

    def kill(self) -> None:
        below = self.pids()
        super().kill()
        end_all(below)

    # ---- requests

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, key: str | None = None, timeout: float = 20
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout * SLACK)
        heads = dict(headers or {})
        if key:
            heads["x-api-key"] = KEYS.get(key, key)
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            heads.setdefault("content-type", "application/json")
        try:
            connection.request(method, path, body.encode() if isinstance(body, str) else body, heads)
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content.decode("utf-8", "replace")
        finally:
            connection.close()

    def get(self, path: str, **named: Any) -> Answer:
        return self.request("GET", path, **named)

    def post(self, path: str, body: Any, **named: Any) -> Answer:
        return self.request("POST", path, body, **named)

    def run(self, agent: str, question: str, thread: str | None = None, key: str | None = "alice", path: str = "/copilotkit", timeout: float = 20, **more: Any) -> Answer:
        return self.post(f"{path}/agent/{agent}/run", run_input(question, thread, **more), key=key, timeout=timeout)

    def chat(self, agent: str, question: str, key: str | None = "alice", path: str = "/v1", timeout: float = 20, **more: Any) -> Answer:
        body = {"model": agent, "messages": [{"role": "user", "content": question}], **more}
        return self.post(f"{path}/chat/completions", body, key=key, timeout=timeout)

    def respond(self, agent: str, question: str, key: str | None = "alice", path: str = "/v1", timeout: float = 20, **more: Any) -> Answer:
        return self.post(f"{path}/responses", {"model": agent, "input": question, **more}, key=key, timeout=timeout)

    def query(self, question: str, agent: str = "plain", key: str | None = "alice", path: str = "/openbb", timeout: float = 20, **more: Any) -> Answer:
        body = {"messages": [{"role": "human", "content": question}], **more}
        return self.post(f"{path}/v1/query/{agent}", body, key=key, timeout=timeout)

    def approvals(self, thread: str, key: str = "alice") -> list[dict[str, Any]]:
        status, _, text = self.get(f"/copilotkit/approvals?threadId={quote(thread, safe='')}", key=key)
        return json.loads(text)["approvals"] if status == 200 else []

    def ask_for(self, agent: str, question: str, thread: str, key: str = "alice") -> dict[str, Any]:
        """Starts a run that must wait for a person; what it waits for."""
        status, _, text = self.run(agent, question, thread, key)
        found = until(lambda: self.approvals(thread, key), 3)
        check(found, f"expected that a person is asked, but the run said {status} {short(text[-300:])}")
        return found[0]

    def decide(self, approval: str, body: Any, key: str = "alice") -> Answer:
        return self.post(f"/copilotkit/approvals/{quote(approval, safe='')}", body, key=key)

    def connect(self, receive_buffer: int | None = None) -> socket.socket:
        connection = socket.socket()
        if receive_buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(10)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def raw(self, method: str, path: str, body: Any, key: str = "alice") -> bytes:
        content = json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: {KEYS[key]}\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        return head.encode() + content

    @contextmanager
    def watched(self, bound: float = HEALTH) -> Iterator["Watch"]:
        """Fails afterwards where /health was slower than `bound` at its 99th percentile."""
        watch = Watch(self.port)
        try:
            time.sleep(0.3)
            yield watch
        finally:
            watch.stop()
        check(watch.p99 <= bound * SLACK, f"expected /health within {bound * 1000 * SLACK:.0f} ms (99th percentile), but it took {watch.p99 * 1000:,.0f} ms (worst {watch.worst:.1f} s)")


class Watch:
    def __init__(self, port: int) -> None:
        program = [sys.executable, str(HERE / "watch.py"), str(port), f"{max(2.5, 3 * HEALTH * SLACK):g}"]
        self._process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.p99 = self.worst = 0.0

    def stop(self) -> None:
        out, _ = self._process.communicate("\n", timeout=30)
        waits = sorted(json.loads(out or "[]"))
        if waits:
            self.p99, self.worst = waits[min(len(waits) - 1, int(len(waits) * 0.99))], waits[-1]


def run_input(question: str, thread: str | None = None, **more: Any) -> dict[str, Any]:
    messages = [{"id": unique("m"), "role": "user", "content": question}]
    whole = {"threadId": thread or unique(), "runId": unique("r"), "messages": messages, "tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return whole | more


def events(text: str) -> list[dict[str, Any]]:
    """Of an AG-UI stream."""
    found = []
    for line in text.splitlines():
        if line.startswith("data: {"):
            found.append(json.loads(line[6:]))
    return found


def is_closed(connection: socket.socket) -> bool:
    """Has the other side ended it? What it said before is read away."""
    connection.settimeout(0.05)
    try:
        while connection.recv(65536):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


def until(condition: Callable[[], Any], seconds: float, pause: float = 0.1) -> Any:
    """What `condition` gives once it is true, or its last value after so many seconds."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(pause)
    return found


class Stage:
    """What scenarios share. Servers are started when they are first needed, and again where a scenario has broken one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tmp").mkdir(mode=0o1777)
        (folder / "tmp").chmod(0o1777)
        self.isolation = os.environ.get("RS_ISOLATED", "")
        self.model, self.mcp, self.away_mcp = Model(), Mcp(), Mcp()
        self.trap, self.engines, self.issuer = Web(), Engines(), Issuer()
        self.api = Api(self.trap)
        self.names = Names() if self.isolation == "names" else None
        self._postgres: Postgres | None = None
        self._redis: Redis | None = None
        self._shared: dict[str, Server] = {}
        self._lock, self._service_lock = threading.RLock(), threading.RLock()
        self._made: list[Server] = []
        self._spare = threading.Condition()
        self._spares: dict[str, list[Server]] = {}
        self._wanted: dict[str, int] = {}
        self._books()
        self._plugins(self.folder / "plugins")

    def _plugins(self, into: Path) -> None:
        shutil.copytree(PLUGINS, into, ignore=shutil.ignore_patterns("__pycache__", "catalog.yaml"))
        for name in ("plugin.json", "openapi.yaml"):
            path = into / "probe" / name
            path.write_text(path.read_text().replace("@PORT@", str(self.api.port)))
        shutil.copy(PLUGINS / "catalog.yaml", self.folder / "catalog.yaml")

    def _books(self) -> None:
        import duckdb

        with sqlite3.connect(self.folder / "books.sqlite") as lite:
            for statement in BOOKS:
                lite.execute(statement)
        lite.close()
        with duckdb.connect(str(self.folder / "books.duckdb")) as duck:
            for statement in BOOKS:
                duck.execute(statement)

    # ---- services

    def postgres(self) -> Postgres:
        with self._service_lock:
            if self._postgres is None:
                found = Postgres(self.folder)
                found.start()
                found.create("books")
                for statement in BOOKS:
                    found.sql("books", statement)
                found.sql("books", "CREATE ROLE reader LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT USAGE ON SCHEMA public TO reader")
                found.sql("books", "GRANT SELECT ON orders, people TO reader")
                self._postgres = found
            return self._postgres

    def redis(self) -> Redis:
        with self._service_lock:
            if self._redis is None:
                self._redis = Redis(self.folder, keeps=False)
                self._redis.start()
            return self._redis

    # ---- servers

    def environment(self, state: Path | None = None, **more: str) -> dict[str, str]:
        if state is None:
            state = self.folder / unique("state")
            state.mkdir(mode=0o700)
        scratch = self.folder / unique("scratch")
        scratch.mkdir()
        return {
            "RS_STATE_DIR": str(state),
            "RS_SCRATCH_DIR": str(scratch),
            "RS_UPSTREAM_OPENAI": self.model.url,
            "RS_REMOTE_MCP": f"{self.mcp.url}/mcp",
            "RS_AWAY_MCP": f"{self.away_mcp.url}/mcp",
            "RS_PLUGINS_DIR": str(self.folder / "plugins"),
            "RS_PLUGIN_API": f"127.0.0.1:{self.api.port}",
            "RS_ENGINE_URL": self.engines.url,
            "RS_ENGINES": str(TEMPLATES),
            "RS_SQLITE_FILE": str(self.folder / "books.sqlite"),
            "RS_DUCKDB_FILE": str(self.folder / "books.duckdb"),
            "RS_CATALOG_FILE": str(self.folder / "catalog.yaml"),
            "RS_JWT_ISSUER": ISSUER,
            "RS_JWT_AUDIENCE": AUDIENCE,
            "RS_JWKS_URL": f"{self.issuer.url}/jwks",
            "RS_READ_SECONDS": f"{READ:g}",
            "RS_UNREAD_SECONDS": f"{UNREAD:g}",
            "RS_ANSWER_SECONDS": f"{ANSWER:g}",
            "RS_SILENCE_SECONDS": f"{SILENCE:g}",
            "RS_STREAMS_PER_USER": str(STREAMS),
            **SECRETS,
            **more,
        }

    def shared(self, name: str = "main") -> Server:
        """`main`: the laptop. `guards`: the same with guards. `fleet`: with PostgreSQL and Redis. `local`: without keys."""
        with self._lock:
            found = self._shared.get(name)
            if found is not None and found.is_alive() and is_well(found):
                return found
            if found is not None:
                found.kill()
            self._shared[name] = self._start(name, self.environment(**self._profile(name)))
            return self._shared[name]

    def _profile(self, name: str) -> dict[str, str]:
        if name == "guards":
            return {"RS_GUARDS": "phrases,personal"}
        if name == "fleet":
            database = self.postgres().create(unique("fleet").replace("-", "_"))
            reader = self.postgres().url("books", user="reader")
            return {"RS_DATABASE_URL": database, "RS_REDIS_URL": self.redis().url(), "RS_SQL_URL": reader}
        if name == "local":
            return {"RS_OVERLAY": json.dumps({"access": None, "faces": [None, *LOCAL_FACES]})}
        return {}

    def prepare(self, kinds: list[str]) -> None:
        """Starts servers that scenarios will want for themselves, one after the other."""
        self._spares = {kind: [] for kind in kinds}
        self._wanted = {kind: kinds.count(kind) for kind in kinds}

        def start() -> None:
            for kind in kinds:
                try:
                    made = self._start(f"spare-{kind}", self.environment(**self._profile(kind)))
                except Failed:
                    made = None
                with self._spare:
                    self._wanted[kind] -= 1
                    self._spares[kind] += [made] if made else []
                    self._spare.notify_all()

        threading.Thread(target=start, daemon=True).start()

    @contextmanager
    def spare(self, kind: str) -> Iterator[Server]:
        """One that was started early, or is now; killed afterwards."""
        with self._spare:
            while self._wanted.get(kind, 0) and not self._spares[kind]:
                self._spare.wait(60)
            server = self._spares[kind].pop() if self._spares.get(kind) else None
        server = server or self._start(f"own-{kind}", self.environment(**self._profile(kind)))
        try:
            yield server
        finally:
            server.kill()

    @contextmanager
    def fresh(self, name: str = "own", state: Path | None = None, limits: dict[int, int] | None = None, **more: str) -> Iterator[Server]:
        """A server for one scenario, killed afterwards."""
        server = self._start(name, self.environment(state, **more), limits)
        try:
            yield server
        finally:
            server.kill()

    def _start(self, name: str, environment: dict[str, str], limits: dict[int, int] | None = None) -> Server:
        server = Server(self, name, environment, limits)
        self._made.append(server)
        try:
            return server.start()
        except BaseException:
            server.kill()
            raise

    def says(self, script: Script) -> str:
        """The tag for questions that the model answers by this script."""
        return f"[[{self.model.script(script)}]]"

    def stop(self) -> None:
        for server in self._made:
            server.stop()
        if self._postgres is not None:
            self._postgres.crash()
        if self._redis is not None:
            self._redis.kill()


LOCAL_FACES = (
    {"type": "copilotkit", "agent": "plain"}, {"type": "openai"}, {"type": "openbb", "agent": "plain"}, {"type": "ai_sdk", "path": "/api/chat", "agent": "plain"},
    {"type": "mcp", "agents": ["banker"]}, {"type": "operator"}, {"type": "console"}, {"type": "usage"}, {"type": "metrics"},
)  # fmt: skip


BOOKS = (
    "CREATE TABLE orders (id INTEGER, region VARCHAR(20), amount INTEGER, note VARCHAR(60))",
    f"INSERT INTO orders VALUES (1, 'north', 10, '{VAULT}'), (2, 'south', 20, '{VAULT}'), (3, 'east', 30, '{VAULT}')",
    "CREATE TABLE people (id INTEGER, name VARCHAR(20))",
    "INSERT INTO people VALUES (1, 'ada'), (2, 'bob')",
    "CREATE TABLE vault (token VARCHAR(60))",
    f"INSERT INTO vault VALUES ('{VAULT}')",
)


def is_well(server: Server) -> bool:
    for _ in range(3):
        try:
            if server.get("/health", timeout=5)[0] == 200:
                return True
        except (OSError, http.client.HTTPException):
            time.sleep(0.2)
    return False


# ---- processes


def family(pid: int) -> list[int]:
    return sorted([pid, *list_descendants(pid)])


def end_all(pids: list[int]) -> None:
    """Of processes that a server of ours has left behind."""
    for pid in pids:
        try:
            if lives(pid):
                os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


# ---- services


def dump_redis(port: int) -> bytes:
    """Every key, and what it holds."""
    import redis

    client, whole = redis.Redis(port=port), []
    for key in client.scan_iter(count=1000):
        kind = client.type(key)
        whole.append(key)
        if kind == b"stream":
            whole.append(repr(client.xrange(key)).encode())
            whole += [value for _, fields in client.xrange(key) for pair in fields.items() for value in pair]
        elif kind == b"string":
            whole.append(client.get(key) or b"")
        elif kind == b"hash":
            whole += [part for pair in client.hgetall(key).items() for part in pair]
        elif kind == b"list":
            whole += client.lrange(key, 0, -1)
        elif kind in (b"set", b"zset"):
            whole += list(client.smembers(key)) if kind == b"set" else client.zrange(key, 0, -1)
    return b"\n".join(whole)
