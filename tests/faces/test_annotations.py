"""What users did in pages, as CopilotKit's hooks send it, and as operators see it."""

from typing import Any

import httpx2
import pytest

from rightseat import app, config
from rightseat.operations.annotations import MAX_PAYLOAD_BYTES
from tests.access.examples import run_input
from tests.conftest import Serve

CONFIGURATION = """
models: {default: {type: scripted, chunk_delay: 0}}
agents: {default: {}, plain: {}}
faces: [{type: copilotkit}, {type: operator}]
log: {type: memory}
threads: {type: memory}
access:
  keys:
    - {name: alice, key: key-alice, user: alice}
    - {name: narrow, key: key-narrow, user: alice, scopes: ["*:plain"]}
    - {name: bob, key: key-bob, user: bob}
    - {name: olga, key: key-olga, user: olga, scopes: ["*", "operator.*:*"]}
    - {name: wu, key: key-wu, user: wu, scopes: ["operator.watch:*"]}
server: {state_dir: "STATE"}
"""
ACTION = {"type": "user_action", "threadId": "t-1", "payload": {"title": "changed the filter"}}


class Clients:
    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def post(self, path: str, json: Any, user: str = "alice") -> httpx2.Response:
        return await self._http.post(f"/copilotkit/{path}", json=json, headers={"x-api-key": f"key-{user}"})

    async def annotate(self, user: str = "alice", **more: Any) -> httpx2.Response:
        return await self.post("annotate", ACTION | more, user)

    async def rows(self, owner: str = "alice", user: str = "olga") -> list[dict[str, Any]]:
        path = f"/operator/annotations?owner={owner}"
        answer = await self._http.get(path, headers={"x-api-key": f"key-{user}"})
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["annotations"]
        return found


@pytest.fixture
async def clients(serve: Serve, tmp_path: Any) -> Any:
    built = app.build(config.parse(CONFIGURATION.replace("STATE", str(tmp_path)), environ={}))
    async with serve(built) as url, httpx2.AsyncClient(base_url=url, timeout=60) as http:
        yield Clients(http)


async def test_an_action_is_stored_with_its_thread(clients: Clients) -> None:
    await clients.post("agent/default/run", run_input(thread="t-1"))
    answer = await clients.annotate(clientEventId="e", occurredAt="2026-11-18T13:00:00+01:00")
    again = await clients.annotate(clientEventId="e")

    id = answer.json()["id"]
    assert answer.json() == {"id": id, "duplicate": False}
    assert again.json() == {"id": id, "duplicate": True}
    [row] = await clients.rows()
    assert (row["id"], row["thread"], row["agent"], row["owner"]) == (id, "t-1", "default", "alice")
    assert (row["payload"], row["occurred_at"]) == (ACTION["payload"], "2026-11-18T12:00:00.000000Z")


async def test_containers_are_stored_as_a_payload(clients: Clients) -> None:
    sent = {"type": "set_learning_containers", "threadId": "t-1", "containers": ["orders"]}
    answer = await clients.post("annotate", sent)

    assert answer.status_code == 200
    assert [row["payload"] for row in await clients.rows()] == [{"containers": ["orders"]}]


async def test_the_envelope_has_the_same_operation(clients: Clients) -> None:
    params = {"path": "/annotate", "httpMethod": "POST"}
    answer = await clients.post("", {"method": "resource/request", "params": params, "body": ACTION})

    assert answer.status_code == 200
    assert len(await clients.rows()) == 1


async def test_a_thread_of_another_user_or_agent_is_refused(clients: Clients) -> None:
    await clients.post("agent/default/run", run_input(thread="t-1"))
    refused = [await clients.annotate(user) for user in ("bob", "narrow")]

    assert [answer.status_code for answer in refused] == [404, 404]
    assert await clients.rows() == await clients.rows("bob") == []


BAD: dict[str, dict[str, Any]] = {
    "no type": {"type": ""},
    "type of spaces": {"type": "  "},
    "type that is a number": {"type": 7},
    "long type": {"type": "t" * 101},
    "NUL in the type": {"type": "a\0"},
    "no thread": {"threadId": ""},
    "list of threads": {"threadId": ["t-1"]},
    "thread that is no id": {"threadId": ".."},
    "NUL in the thread": {"threadId": "a\0"},
    "long thread": {"threadId": "t" * 600},
    "payload that is a text": {"payload": "x"},
    "payload twice": {"payload": {"containers": 1}, "containers": 2},
    "event id": {"clientEventId": ""},
    "long event id": {"clientEventId": "e" * 201},
    "time": {"occurredAt": "yesterday"},
    "time beyond time": {"occurredAt": "0001-01-01T00:00:00+23:59"},
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_body_is_refused_with_its_reason(clients: Clients, name: str) -> None:
    answer = await clients.annotate(**BAD[name])

    assert answer.status_code == 400
    assert answer.json()["message"]
    assert await clients.rows() == []


async def test_a_large_payload_is_refused(clients: Clients) -> None:
    largest = MAX_PAYLOAD_BYTES - len('{"a":""}')
    answers = [await clients.annotate(payload={"a": "x" * size}) for size in (largest, largest + 1)]

    assert [answer.status_code for answer in answers] == [200, 413]
    assert answers[1].json()["code"] == "annotation_too_long"


async def test_operators_read_them_and_who_only_watches_does_not(
    clients: Clients, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "rightseat.audit")
    await clients.annotate()

    assert len(await clients.rows()) == 1
    assert "olga read annotations of alice" in " ".join(caplog.messages)
    with pytest.raises(AssertionError, match=r"operator\.read"):
        await clients.rows(user="wu")
    assert len(await clients.rows(user="alice")) == 1
