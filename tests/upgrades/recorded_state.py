"""What servers of commit 340655e have left: databases, logs, keys and files, and how a server opens them.

`recorded/shop` is the folder of the server: configuration, tools and a plugin. `recorded/KIND` is what `record.py`
saved when that server was killed: `state.tar.gz`, its state folder; `database.sql`, written by pg_dump; `log.json`, the
keys of Redis; `replies.json`, its reply to each GET before, and the keys of its users.
"""

import json
import secrets
import shutil
import tarfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx2
import psycopg
from psycopg import sql
from redis.asyncio import Redis

from tests.archives import extract
from tests.services import POSTGRES, REDIS, keys
from tests.upgrades.old_code import WAIT_S

Kind = Literal["sqlite", "postgres", "redis"]
KINDS: tuple[Kind, ...] = ("sqlite", "postgres", "redis")

RECORDED = Path(__file__).parent / "recorded"
SUPPORT_KEY = "the-key-of-the-recorded-support-team"
ENVIRONMENT = {"SUPPORT_KEY": SUPPORT_KEY}
SERVER = "http://server"
LONG_THREAD = "long"
"""Its durable run was in the middle when the server was killed."""
RETENTION_MINUTES = 60 * 24 * 365 * 100
"""A hundred years, so that the logs of runs of that day are still there when the test runs."""


@dataclass(frozen=True)
class Stores:
    """Where the server of a kind keeps what it stores."""

    kind: Kind
    database: str = ""
    prefix: str = ""

    def configure(self, folder: Path) -> Path:
        """Write the folder of the server. Its configuration is the recorded one, and the stores of the kind."""
        shutil.copytree(RECORDED / "shop", folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        file = folder / "rightseat.yaml"
        parts = self.list_parts() | {"server": {"state_dir": str(folder / "state"), "shutdown_timeout": 10}}
        lines = [f"{name}: {json.dumps(part)}\n" for name, part in parts.items()]
        file.write_text(file.read_text() + "".join(lines))
        return file

    def list_parts(self) -> dict[str, Any]:
        if self.kind == "sqlite":
            return {"engine": {"type": "dbos"}}
        shared: dict[str, Any] = {"type": "postgres", "url": self.database}
        if self.kind == "redis":
            shared = {"type": "redis", "url": REDIS, "prefix": self.prefix}
        return {
            "threads": {"type": "sql", "url": self.database, "lease_seconds": 2},
            "engine": {"type": "dbos", "url": self.database},
            "log": shared | {"retention_minutes": RETENTION_MINUTES},
        }


@asynccontextmanager
async def open_stores(kind: Kind) -> AsyncIterator[Stores]:
    """Empty stores of a kind, which are deleted afterwards."""
    if kind == "sqlite":
        yield Stores(kind)
        return
    with new_database() as database:
        async with keys() as prefix:
            yield Stores(kind, database, prefix)


@contextmanager
def new_database() -> Iterator[str]:
    """`tests/databases.py` drops it if this process is killed."""
    name = f"rightseat_test_upgrade_{secrets.token_hex(8)}"
    with psycopg.connect(POSTGRES, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield f"{POSTGRES.rpartition('/')[0]}/{name}"
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@dataclass(frozen=True)
class Replies:
    """The replies of the old server by user and path, and the keys of the users."""

    keys: dict[str, str]
    by_path: dict[str, dict[str, Any]] = field(default_factory=dict)

    def save(self, kind: Kind) -> None:
        text = json.dumps({"keys": self.keys, "by_path": self.by_path}, indent=1, ensure_ascii=False)
        (RECORDED / kind / "replies.json").write_text(text + "\n")

    @classmethod
    def load(cls, kind: Kind) -> "Replies":
        return cls(**json.loads((RECORDED / kind / "replies.json").read_text()))


async def restore(stores: Stores, folder: Path) -> Path:
    """Put what the old server has left where a new one finds it, and return the configuration file."""
    recorded = RECORDED / stores.kind
    file = stores.configure(folder)
    with tarfile.open(recorded / "state.tar.gz") as archive:
        extract(archive, folder)
    if (dump := recorded / "database.sql").exists():
        with psycopg.connect(stores.database, autocommit=True) as connection:
            connection.execute(dump.read_text().encode())
    if (entries := recorded / "log.json").exists():
        async with Redis.from_url(REDIS) as redis:
            await write_keys(redis, stores.prefix, json.loads(entries.read_text()))
    return file


async def read_keys(redis: Any, prefix: str) -> dict[str, Any]:  # its client returns text or bytes, by its types
    """Every key below the prefix, by the rest of its name, with its type and its value. All bytes are Latin-1 text."""
    found: dict[str, Any] = {}
    names = [name async for name in redis.scan_iter(f"{prefix}*")]
    for name in sorted(names):
        kind = (await redis.type(name)).decode()
        found[name.decode().removeprefix(prefix)] = {"type": kind, "value": await read_value(redis, kind, name)}
    return found


async def read_value(redis: Any, kind: str, name: bytes) -> Any:
    match kind:
        case "string":
            return decode(await redis.get(name))
        case "hash":
            return [[decode(key), decode(value)] for key, value in (await redis.hgetall(name)).items()]
        case "zset":
            return [[decode(member), score] for member, score in await redis.zrange(name, 0, -1, withscores=True)]
        case "stream":
            entries = await redis.xrange(name)
            return [[decode(id), [[decode(k), decode(v)] for k, v in values.items()]] for id, values in entries]
    raise AssertionError(f"the log has a key of the type {kind}: {name!r}")


async def write_keys(redis: Any, prefix: str, found: Mapping[str, Any]) -> None:
    for rest, key in found.items():
        name = prefix + rest
        match key["type"]:
            case "string":
                await redis.set(name, encode(key["value"]))
            case "hash":
                await redis.hset(name, mapping={encode(k): encode(v) for k, v in key["value"]})
            case "zset":
                await redis.zadd(name, {encode(member): score for member, score in key["value"]})
            case "stream":
                for id, values in key["value"]:
                    await redis.xadd(name, {encode(k): encode(v) for k, v in values}, id=id)


def decode(value: bytes) -> str:
    return value.decode("latin-1")


def encode(value: str) -> bytes:
    return value.encode("latin-1")


class Client:
    """A user of the server at `url`."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        headers = {"authorization": f"Bearer {key}"}
        self._http = httpx2.AsyncClient(base_url=url, headers=headers, timeout=WAIT_S)

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.aclose()

    async def get_status(self, path: str) -> int:
        return (await self._http.get(path)).status_code

    async def get(self, path: str) -> Any:
        """Addresses of the server, whose port is another each time, are those of `SERVER`."""
        response = await self._http.get(path)
        assert response.status_code == 200, (path, response.status_code, response.text)
        return json.loads(response.text.replace(self._url, SERVER))

    async def send(self, method: str, path: str, body: Any) -> Any:
        response = await self._http.request(method, path, json=body)
        assert response.is_success, (path, response.status_code, response.text)
        return response.json() if response.headers["content-type"].startswith("application/json") else response.text

    async def ask(self, thread: str, text: str, agent: str = "default") -> list[dict[str, Any]]:
        """The events of a run of CopilotKit's client."""
        return [event async for event in self.stream(thread, text, agent)]

    async def stream(
        self, thread: str, text: str, agent: str = "default", operation: str = "run"
    ) -> AsyncIterator[dict[str, Any]]:
        question = [{"id": f"question-{secrets.token_hex(4)}", "role": "user", "content": text}]
        body = {
            "threadId": thread,
            "runId": f"run-{secrets.token_hex(8)}",
            "messages": question if operation == "run" else [],
            "state": {},
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        path = f"/copilotkit/agent/{agent}/{operation}"
        async with self._http.stream("POST", path, json=body) as response:
            assert response.status_code == 200, await response.aread()
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))
