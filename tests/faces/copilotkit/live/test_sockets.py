"""Live lists through real WebSockets: what they show, to whom, and what hostile pages can do."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from rightseat.access.scopes import AuthenticatedUser
from rightseat.access.sessions import Sessions
from rightseat.core.errors import StoreUnreachable
from rightseat.faces.copilotkit.live import service, socket
from tests.conditions import until
from tests.faces.copilotkit.live.page import LiveServer

REFUSED = "HTTP 403"
ALICE = AuthenticatedUser("alice", ("*",), "a test")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[LiveServer]:
    async with LiveServer.open(tmp_path) as server:
        yield server


async def check_refused(server: LiveServer, token: str, **options: Any) -> None:
    with pytest.raises(InvalidStatus, match=REFUSED):
        async with server.page(token, **options):
            pass


# What lists show


async def test_a_list_follows_a_thread_from_its_first_run_to_its_deletion(server: LiveServer) -> None:
    async with server.list() as page:
        await server.run("t-1")
        await until(lambda: page.threads())
        await server.call("PATCH", "threads/t-1", {"agentId": "default", "name": "Tea"})
        await until(lambda: any(event.get("thread", {}).get("name") == "Tea" for event in page.events()))
        await server.call("POST", "threads/t-1/archive", {})
        await until(lambda: page.events()[-1]["operation"] == "archived")
        await server.call("DELETE", "threads/t-1", {})
        await until(lambda: page.events()[-1]["operation"] == "deleted")

        assert page.events()[-1]["deleted"] == {"id": "t-1"}
        listed = {"id", "name", "agentId", "organizationId", "createdById", "archived", "createdAt", "updatedAt"}
        assert set(page.events()[0]["thread"]) == listed


async def test_a_run_is_announced_with_the_id_of_its_client_and_without_words(server: LiveServer) -> None:
    async with server.list() as page:
        await server.run("t-1", runId="mine")
        found = await until(lambda: len(page.events("thread_run_activity")) == 2 and page.events("thread_run_activity"))

        about = {"threadId": "t-1", "runId": "mine", "agentId": "default"}
        assert found == [{**about, "eventType": "RUN_STARTED"}, {**about, "eventType": "RUN_FINISHED"}]
        assert "demo" not in json.dumps(found)


async def test_memories_follow_too_and_shared_ones_reach_everyone(server: LiveServer) -> None:
    codes = (await server.call("POST", "memories/subscribe", {})).json()
    topic = f"user_meta:memories:{codes['joinCode']}"
    async with server.page(codes["joinToken"]) as page:
        assert await page.join(topic) == "ok"
        body = {"content": "Likes tea", "kind": "topical"}
        one = (await server.call("POST", "memories", body)).json()
        two = (await server.call("PATCH", f"memories/{one['id']}", body | {"content": "Likes coffee"})).json()
        await server.call("DELETE", f"memories/{two['id']}")
        await server.call("POST", "memories", body | {"scope": "project"}, "olga")
        await until(lambda: '"project"' in json.dumps(page.events("memory_metadata")))

        found = page.events("memory_metadata")
        assert found[0]["memory"]["content"] == "Likes tea"
        assert {event["invalidated"]["id"] for event in found if event["operation"] == "invalidated"} == {
            one["id"],
            two["id"],
        }
        assert page.events() == []


async def test_what_changed_between_the_token_and_the_join_is_sent(server: LiveServer) -> None:
    token, topic = await server.token(), await server.topic()
    for thread in ("t-1", "t-2"):
        await server.run(thread)
    await server.call("DELETE", "threads/t-2", {})
    async with server.page(token) as page:
        await page.join(topic)
        await until(lambda: len(page.events()) >= 2)

        assert [(event["operation"], event["threadId"]) for event in page.events()] == [
            ("deleted", "t-2"),
            ("updated", "t-1"),
        ]


async def test_other_sockets_of_a_user_go_on_when_one_closes(server: LiveServer) -> None:
    async with server.list() as page:
        async with server.list():
            pass
        await server.run("t-1")

        await until(lambda: page.threads())


async def test_a_list_is_complete_after_an_outage_of_the_store(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with server.list() as page:
        threads: Any = server.assembly.runtime.threads
        real = type(threads).outline

        async def fail(*_: object) -> None:
            raise StoreUnreachable

        monkeypatch.setattr(type(threads), "outline", fail)
        await server.run("t-1")
        await asyncio.wait_for(page.push("phoenix", "heartbeat"), 30)
        before = page.threads()
        monkeypatch.setattr(type(threads), "outline", real)
        await until(lambda: page.threads())

        assert before == []


async def test_info_and_lists_say_where_the_socket_is_and_claim_no_licence(server: LiveServer) -> None:
    info = (await server.call("GET", "info", user="narrow")).json()

    assert info["intelligence"] == {"wsUrl": f"{server.url.replace('http', 'ws')}/copilotkit/client"}
    assert info["threadEndpoints"]["realtimeMetadata"] is True
    assert not {"licenseStatus", "runtimeEntitlements"} & set(info)


@pytest.mark.parametrize("option", ["live: false", "single_endpoint: true"])
async def test_a_face_without_live_lists_offers_none(tmp_path: Path, option: str) -> None:
    def change(text: str) -> str:
        return text.replace("max_sockets_per_user: 4", option).replace("{memory: {}}", "{}")

    async with LiveServer.open(tmp_path, change) as server:
        if "single" not in option:
            info, listed = (await server.call("GET", "info")).json(), (await server.call("GET", "threads")).json()
            assert "intelligence" not in info
            assert "joinCode" not in listed
            assert (await server.call("POST", "threads/subscribe", {})).status_code == 405
        await check_refused(server, "x")


# Who may follow


async def test_others_see_nothing_and_join_nothing_of_a_user(server: LiveServer) -> None:
    topic = await server.topic()
    async with server.list("alice") as hers, server.list("bob") as his:
        code = topic.removeprefix("user_meta:")
        tried = [topic, f"user_meta:memories:{code}", "user_meta:", "user_meta:*", f"project_meta:memories:{code}"]
        replies = [await his.join(one) for one in [*tried, "phoenix", "", "user_meta:" + "0" * 16 + "-" + "0" * 32]]
        await server.run("t-1")
        await until(lambda: hers.threads())
        await his.push("phoenix", "heartbeat")

        assert set(replies) == {"error"}
        assert his.events() == his.events("thread_run_activity") == []


async def test_a_key_for_one_agent_follows_its_threads_alone(server: LiveServer) -> None:
    async with server.list("narrow") as narrow, server.list("alice") as whole:
        await server.run("t-1", agent="default")
        await server.run("t-2", agent="plain")
        await until(lambda: set(whole.threads()) == {"t-1", "t-2"})
        await until(lambda: narrow.threads())

        assert set(narrow.threads()) == {"t-2"}
        assert {event["threadId"] for event in narrow.events("thread_run_activity")} == {"t-2"}
        code = (await server.topic("narrow")).removeprefix("user_meta:")
        assert await narrow.join(f"user_meta:memories:{code}") == "error"


async def test_forged_expired_and_foreign_tokens_are_refused_and_no_log_has_one(
    server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, "websockets.client")
    token = await server.token()
    body, _, signature = token.partition(".")
    foreign = Sessions(b"another secret", 12).open_for_token(ALICE)
    for wrong in ("", "x", ".", body, f"{body}.", f".{signature}", token[:-1], token.swapcase(), foreign, "key-alice"):
        await check_refused(server, wrong)
    monkeypatch.setattr(time, "time", lambda real=time.time: real() + 13 * 3600)
    await check_refused(server, token)
    monkeypatch.undo()

    async with server.page(token) as page:
        assert await page.join(await server.topic()) == "ok"
    sent = [await server.http.get("/copilotkit/threads", headers=headers) for headers in carriers(token)]
    assert {answer.status_code for answer in sent} == {401}
    assert token not in caplog.text
    assert signature not in caplog.text


def carriers(token: str) -> list[dict[str, str]]:
    return [{"x-api-key": token}, {"authorization": f"Bearer {token}"}, {"cookie": f"rightseat={token}"}]


async def test_a_token_of_a_server_without_keys_does_not_count_once_it_has_some(tmp_path: Path) -> None:
    def without_keys(text: str) -> str:
        return text.partition("access:")[0]

    async with LiveServer.open(tmp_path, without_keys) as server:
        token = await server.token()
        async with server.page(token) as page:
            assert await page.join(await server.topic()) == "ok"
    async with LiveServer.open(tmp_path) as server:
        await check_refused(server, token)


async def test_a_socket_counts_on_a_server_that_was_started_again(tmp_path: Path) -> None:
    async with LiveServer.open(tmp_path) as server:
        token, topic = await server.token(), await server.topic()
    async with LiveServer.open(tmp_path) as server, server.page(token) as page:
        assert await page.join(topic) == "ok"
        assert await server.topic() != topic


async def test_pages_of_other_origins_and_hosts_are_refused(server: LiveServer) -> None:
    token = await server.token()
    await check_refused(server, token, origin="https://evil.test")
    async with server.page(token, origin="http://localhost:5173") as page:
        assert await page.join(await server.topic()) == "ok"


async def test_a_socket_ends_with_its_key(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CHECKS_PER_EXPIRY", 1)
    async with server.list() as hers, server.list("bob") as his:
        authenticator = server.assembly.authenticator
        assert authenticator is not None
        [key] = authenticator._keys.named("alice")
        authenticator._keys.remove(key)
        await until(lambda: hers.closed)

        assert (await his.push("phoenix", "heartbeat"))["status"] == "ok"


async def test_one_socket_too_many_is_refused_until_another_closes(server: LiveServer) -> None:
    token = await server.token()
    async with server.page(token), server.page(token), server.page(token):
        async with server.page(token):
            await check_refused(server, token)
            async with server.page(await server.token("bob")):
                pass

        async def is_opened() -> bool:
            try:
                async with server.page(token):
                    return True
            except InvalidStatus:
                return False

        await until(is_opened)


# Hostile pages

DEEP = "[" * 20_000 + "]" * 20_000
GARBAGE: list[str | bytes] = ["", "x", "{}", "[]", "[1]", "null", "[null,null,null,null,null]", '["1","1",7,8,9]', DEEP]
GARBAGE += [json.dumps(["1", "1", "t" * 600, "phx_join", {}]), json.dumps(["1", "1", "t", "e" * 600, {}]), b"\x00\xff"]


async def test_garbage_closes_its_own_socket_alone(server: LiveServer) -> None:
    async with server.list() as good:
        for frame in GARBAGE:
            async with server.page(await server.token()) as page:
                await page.connection.send(frame)
                await page.wait_closed()
        async with server.page(await server.token()) as page:
            await page.connection.send("x" * 70_000)
            assert await until(lambda: page.closed) == 1009
        await server.run("t-1")

        await until(lambda: good.threads())


async def test_frames_and_joins_are_bounded(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async with server.page(await server.token()) as page:
        for number in range(socket.MAX_JOINS + 1):
            await page.connection.send(json.dumps(["1", str(number), f"user_meta:{number}", "phx_join", {}]))
        assert await until(lambda: page.closed) == 1008
        assert len(page.frames) <= socket.MAX_JOINS
    async with server.page(await server.token()) as page:
        for number in range(socket.MAX_FRAMES + 1):
            await page.connection.send(json.dumps([None, str(number), "phoenix", "heartbeat", {}]))
        assert await until(lambda: page.closed) == 1008


async def test_replies_are_phoenix_ones_and_no_event_comes_after_a_leave(server: LiveServer) -> None:
    topic = await server.topic()
    async with server.list() as page, server.list() as other:
        assert (await page.push(topic, "no_such_event"))["status"] == "error"
        assert (await page.push(topic, "phx_leave"))["status"] == "ok"
        await server.run("t-1")
        await until(lambda: other.threads())

        assert (await page.push("phoenix", "heartbeat")) == {"status": "ok", "response": {}}
        assert page.threads() == []
        assert await page.join(topic) == "ok"


async def test_a_page_that_is_silent_is_closed_and_one_with_heartbeats_is_not(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "SILENCE_S", 0.3)
    async with server.list() as silent, server.list() as alive:

        async def is_closed() -> bool:
            await alive.push("phoenix", "heartbeat")
            return silent.closed is not None

        await until(is_closed)

        assert alive.closed is None


async def test_a_page_that_does_not_read_is_disconnected_within_bounds(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "MAX_UNSENT", 50)
    async with server.list() as good, server.page(await server.token()) as page:
        await page.join(await server.topic())
        page.connection.transport.pause_reading()

        async def is_gone() -> bool:
            for number in range(10):
                await server.call("PATCH", "threads/t-1", {"agentId": "default", "name": f"{number}" * 200_000})
            server.timeouts.check_connections()
            return len(server.server.server_state.connections) < connections

        await server.run("t-1")
        connections = len(server.server.server_state.connections)
        await until(is_gone)

        assert (await good.push("phoenix", "heartbeat"))["status"] == "ok"


async def test_sockets_leave_nothing_behind(server: LiveServer) -> None:
    async with server.list():
        pass
    changes = server.assembly.changes
    assert changes is not None
    await until(lambda: not changes._receivers)

    assert changes._listening is None
