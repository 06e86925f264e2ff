"""What copilots remember, as CopilotKit's clients list and change it, and as operators see it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat import app, config
from rightseat.core.errors import ConfigError
from tests.access.examples import run_input
from tests.conftest import Serve

CONFIGURATION = """
models:
  default: {{type: scripted, chunk_delay: 0}}
agents:
  default: {{memory: {{}}}}
  plain: {{}}
guards:
  - {{type: personal_data, applies_to: [memory]}}
faces:
  - {{type: copilotkit, path: /copilotkit, agent: default}}
  - {{type: copilotkit, path: /bare, agent: plain, agents: []}}
  - {{type: operator}}
log: {{type: memory}}
threads: {{type: memory}}
memory: {{max_chars: 100, max_per_user: 3}}
server: {{state_dir: "{folder}"}}
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: narrow, key: key-narrow, user: alice, scopes: ["*:plain"]}}
    - {{name: bob, key: key-bob, user: bob}}
    - {{name: olga, key: key-olga, user: olga, scopes: ["*", "operator.*:*"]}}
    - {{name: wu, key: key-wu, user: wu, scopes: ["operator.watch:*"]}}
"""
FIELDS = {"id", "kind", "scope", "content", "sourceThreadIds", "invalidatedAt"}


class Clients:
    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def call(
        self, method: str, path: str, json: Any = None, *, user: str = "alice", base: str = "/copilotkit"
    ) -> httpx2.Response:
        given = {} if json is None else {"json": json}
        return await self._http.request(method, f"{base}/{path}", headers={"x-api-key": f"key-{user}"}, **given)

    async def add(self, content: str, user: str = "alice", **more: Any) -> httpx2.Response:
        return await self.call("POST", "memories", {"content": content, "kind": "topical", **more}, user=user)

    async def list(self, user: str = "alice") -> list[dict[str, Any]]:
        answer = await self.call("GET", "memories", user=user)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["memories"]
        return found


@asynccontextmanager
async def serving(serve: Serve, folder: Path) -> AsyncIterator[Clients]:
    built = app.build(config.parse(CONFIGURATION.format(folder=folder), environ={}))
    async with serve(built) as url, httpx2.AsyncClient(base_url=url, timeout=60) as http:
        yield Clients(http)


async def test_a_memory_is_added_replaced_and_removed(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        added = await clients.add("Lives in Basel", sourceThreadIds=[])
        id = added.json()["id"]
        replaced = await clients.call("PATCH", f"memories/{id}", {"content": "Lives in Bern", "kind": "episodic"})
        again = await clients.call("PATCH", f"memories/{id}", {"content": "Lives in Bonn", "kind": "episodic"})
        listed = await clients.list()
        removed = [await clients.call("DELETE", f"memories/{replaced.json()['id']}") for _ in range(2)]

        assert added.status_code == 201
        assert set(added.json()) == FIELDS
        assert replaced.status_code == 200
        assert (replaced.json()["retiredId"], replaced.json()["kind"]) == (id, "episodic")
        assert replaced.json()["id"] != id
        assert [memory["content"] for memory in listed] == ["Lives in Bern"]
        assert again.status_code == 404
        assert [answer.status_code for answer in removed] == [204, 404]
        assert await clients.list() == []


async def test_recall_finds_by_words_the_best_first(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        for content in ("The budget of project Kite is 40000", "The deadline of project Kite is Friday", "Plays cello"):
            await clients.add(content)
        answer = await clients.call("POST", "memories/recall", {"query": "budget of project Kite", "limit": 2})
        nothing = await clients.call("POST", "memories/recall", {"query": "budget"}, user="bob")

        found = answer.json()["memories"]
        assert [memory["content"].split()[1] for memory in found] == ["budget", "deadline"]
        assert found[0]["score"] == 1.0
        assert found[1]["score"] < 1.0
        assert nothing.json() == {"memories": []}


async def test_the_envelope_has_the_same_operations(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        params = {"path": "/memories", "httpMethod": "POST"}
        body = {"content": "Likes tea", "kind": "topical"}
        sent = {"method": "resource/request", "params": params, "body": body}
        added = await clients.call("POST", "", sent)

        assert added.status_code == 201
        assert [memory["content"] for memory in await clients.list()] == ["Likes tea"]


async def test_others_neither_see_nor_change_a_memory(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        id = (await clients.add("Likes tea")).json()["id"]
        body = {"content": "x", "kind": "topical"}
        refused = [
            (await clients.call(method, f"memories/{tried}", sent, user="bob")).status_code
            for tried in (id, id.upper(), "%00", "*", f"{id}%2F")
            for method, sent in (("PATCH", body), ("DELETE", None))
        ]

        assert set(refused) == {404}
        assert await clients.list("bob") == []
        assert [memory["content"] for memory in await clients.list()] == ["Likes tea"]


async def test_only_operators_write_what_all_users_share(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        refused = await clients.add("Closed on Fridays", scope="project")
        shared = (await clients.add("Closed on Fridays", "olga", scope="project")).json()
        changed = await clients.call("DELETE", f"memories/{shared['id']}")
        own = (await clients.add("Likes tea")).json()
        raised = await clients.call(
            "PATCH", f"memories/{own['id']}", {"content": "Likes tea", "kind": "topical", "scope": "project"}
        )

        assert (refused.status_code, changed.status_code, raised.status_code) == (403, 403, 403)
        assert "operator.act:*" in refused.json()["message"]
        assert [memory["scope"] for memory in await clients.list()] == ["user", "project"]
        assert (await clients.call("DELETE", f"memories/{shared['id']}", user="olga")).status_code == 204


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": "x"},
        {"content": 1, "kind": "topical"},
        {"content": "", "kind": "topical"},
        {"content": " \n ", "kind": "topical"},
        {"content": "x", "kind": "other"},
        {"content": "x", "kind": "topical", "scope": "world"},
        {"content": "x", "kind": "topical", "sourceThreadIds": [1]},
        {"content": "x" * 101, "kind": "topical"},
    ],
)
async def test_a_bad_body_is_refused_with_the_reason(serve: Serve, tmp_path: Path, body: Any) -> None:
    async with serving(serve, tmp_path) as clients:
        answer = await clients.call("POST", "memories", body)

        assert answer.status_code in (400, 413)
        assert answer.json()["message"]
        assert await clients.list() == []


async def test_limits_name_their_number(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        for number in range(3):
            assert (await clients.add(f"Fact {number}")).status_code == 201
        refused = await clients.add("One too many")
        known = await clients.add("fact 1")

        assert (refused.status_code, refused.json()["error"]) == (403, "too_many_memories")
        assert "3 memories" in refused.json()["message"]
        assert known.status_code == 201


async def test_a_guard_refuses_an_addition_and_a_replacement(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        refused = await clients.add("Write to jane.doe@example.org")
        id = (await clients.add("Likes tea")).json()["id"]
        body = {"content": "jane.doe@example.org", "kind": "topical"}
        replaced = await clients.call("PATCH", f"memories/{id}", body)

        assert (refused.status_code, replaced.status_code) == (403, 403)
        assert "e-mail" in refused.json()["message"]
        assert [memory["content"] for memory in await clients.list()] == ["Likes tea"]


async def test_a_source_is_a_thread_of_ones_own(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        asked = run_input()
        assert (await clients.call("POST", "agent/default/run", asked)).status_code == 200
        own = await clients.add("Likes tea", sourceThreadIds=["unknown", asked["threadId"]])
        others = await clients.add("Likes tea", "bob", sourceThreadIds=[asked["threadId"]])

        assert own.json()["sourceThreadIds"] == [asked["threadId"]]
        assert others.json()["sourceThreadIds"] == []


async def test_without_an_agent_with_memory_there_is_none(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        bare = await clients.call("GET", "memories", base="/bare")
        narrow = await clients.call("GET", "memories", user="narrow")
        info = [(await clients.call("GET", "info", base=base)).json() for base in ("/bare", "/copilotkit")]
        subscribed = await clients.call("POST", "memories/subscribe", {})

        assert (bare.status_code, bare.json()["error"]) == (404, "memory_off")
        assert "memory: {}" in bare.json()["message"]
        assert narrow.status_code == 404
        assert "intelligence" not in info[0]
        assert info[1]["intelligence"]["wsUrl"].startswith("ws://127.0.0.1:")
        assert not {"licenseStatus", "runtimeEntitlements"} & info[1].keys()
        assert subscribed.status_code == 404


async def test_operators_read_what_came_from_where(serve: Serve, tmp_path: Path) -> None:
    async with serving(serve, tmp_path) as clients:
        await clients.add("Likes tea")
        await clients.add("Closed on Fridays", "olga", scope="project")

        async def read(user: str, query: str) -> httpx2.Response:
            return await clients.call("GET", f"memories?{query}", user=user, base="/operator")

        (row,) = (await read("olga", "owner=alice")).json()["memories"]
        everyone = (await read("olga", "owner=*")).json()
        shared = (await read("olga", "scope=project")).json()
        refused = [(await read(user, "owner=alice")).status_code for user in ("bob", "wu")]

        assert (row["text"], row["owner"], row["created_by"], row["approved_by"]) == (
            "Likes tea",
            "alice",
            "person",
            None,
        )
        assert row["source"] == {"thread": None, "run": None, "message": None, "tools": []}
        assert [memory["owner"] for memory in everyone["memories"]] == [None, "alice"]
        assert [memory["owner"] for memory in shared["memories"]] == [None]
        assert refused == [403, 403]


def test_memory_needs_a_store_that_has_a_place_for_it() -> None:
    written = "agents: {default: {memory: {}}}\nthreads: {type: tests.faces.threads_only}"

    with pytest.raises(ConfigError, match=r"agents\.default\.memory: .*stores no memories"):
        app.build(config.parse(written, environ={}))
