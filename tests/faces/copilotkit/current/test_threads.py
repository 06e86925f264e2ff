"""Threads: list, read, rename, archive, delete; also while a run is live."""

import asyncio
from typing import Any

import httpx2
import pytest

from rightseat.core.ask import ANYONE
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.tools import Invocation, Tool
from rightseat.stores.memory import MemoryThreads
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.functions import FunctionToolbox
from rightseat.toolboxes.state import tools as state_tools
from tests.conftest import Serve
from tests.faces.copilotkit.current.serving import ALICE, BOB, KEYS, Reader, Told, app, asking, read, text_of, visiting
from tests.faces.copilotkit.serving import runtime

RUN, CONNECT = "/agent/default/run", "/agent/default/connect"


async def said(client: httpx2.AsyncClient, *threads: str, agent: str = "default", **headers: str) -> None:
    """One turn in each thread."""
    for thread in threads:
        answer = await client.post(f"/agent/{agent}/run", json=asking(f"Hi {thread}", thread=thread), headers=headers)
        assert read(answer.content)[-1].type == "RUN_FINISHED"


async def listed(client: httpx2.AsyncClient, headers: dict[str, str] | None = None, **query: Any) -> list[str]:
    answer = await client.get("/threads", params=query, headers=headers)
    return [thread["id"] for thread in answer.json()["threads"]]


# List


async def test_a_list_has_what_the_clients_show(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, "t-1")
        answer = await client.get("/threads", params={"agentId": "default", "limit": 20})

    (thread,) = answer.json()["threads"]
    assert answer.json()["nextCursor"] is None
    assert thread.pop("createdAt") <= thread.pop("updatedAt")
    assert thread == {
        "id": "t-1",
        "name": "Hi t-1",
        "agentId": "default",
        "organizationId": "",
        "createdById": "",
        "archived": False,
    }


async def test_the_latest_comes_first(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, "t-1", "t-2", "t-3", "t-1")
        assert await listed(client) == ["t-1", "t-3", "t-2"]


async def test_a_list_is_of_one_agent_where_one_is_named(serve: Serve) -> None:
    helper = Loop(ScriptedModel([says("Hi")]))

    async with serve(app(runtime(helper=helper))) as url, visiting(url) as client:
        await said(client, "t-1")
        await said(client, "t-2", agent="helper")
        assert await listed(client) == ["t-2", "t-1"]
        assert await listed(client, agentId="default") == ["t-1"]
        assert await listed(client, agentId="helper") == ["t-2"]
        assert await listed(client, agentId="nobody") == []


async def test_a_long_list_comes_in_pages(serve: Serve) -> None:
    threads = [f"t-{number}" for number in range(7)]

    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, *threads)
        pages: list[list[str]] = []
        cursor: str | None = ""
        while cursor is not None:
            query = {"limit": "3", "agentId": "default"} | ({"cursor": cursor} if cursor else {})
            page = (await client.get("/threads", params=query)).json()
            pages.append([thread["id"] for thread in page["threads"]])
            cursor = page["nextCursor"]

    assert pages == [["t-6", "t-5", "t-4"], ["t-3", "t-2", "t-1"], ["t-0"]]


async def test_a_search_finds_words_in_names_and_messages_of_own_threads(serve: Serve) -> None:
    model = ScriptedModel(lambda prompt: says(f"About {prompt.messages[-1].text.swapcase()}: 东京 is far"))

    async with serve(app(runtime(model, helper=Loop(model)), access=KEYS)) as url, visiting(url) as client:
        await said(client, "t-1", "t-2", "t-3", **ALICE)
        await said(client, "t-4", agent="helper", **ALICE)
        await said(client, "t-5", **BOB)
        found = {
            "name": await listed(client, ALICE, search="hi T-2"),
            "answer": await listed(client, ALICE, search="东京"),
            "agent": await listed(client, ALICE, search="东京", agentId="helper"),
            "nothing": await listed(client, ALICE, search="Osaka"),
            "wildcard": await listed(client, ALICE, search="%"),
            "blank": await listed(client, ALICE, search=" "),
            "no rows": await listed(client, ALICE, search="东京", limit=0),
            "of another": await listed(client, BOB, search="东京"),
        }

    everything = ["t-4", "t-3", "t-2", "t-1"]
    assert found == {
        "name": ["t-2"],
        "answer": everything,
        "agent": ["t-4"],
        "nothing": [],
        "wildcard": [],
        "blank": everything,
        "no rows": ["t-4"],
        "of another": ["t-5"],
    }


async def test_a_search_comes_in_pages_and_skips_archived_threads(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, "t-1", "t-2", "t-3")
        await client.post("/threads/t-2/archive")
        first = (await client.get("/threads", params={"search": "hi", "limit": 1})).json()
        second = (
            await client.get("/threads", params={"search": "hi", "limit": 1, "cursor": first["nextCursor"]})
        ).json()
        archived = await listed(client, search="hi", includeArchived="true")

    assert [[one["id"] for one in page["threads"]] for page in (first, second)] == [["t-3"], ["t-1"]]
    assert second["nextCursor"] is None
    assert sorted(archived) == ["t-1", "t-2", "t-3"]


async def test_a_store_that_cannot_search_says_so(serve: Serve) -> None:
    async with serve(app(runtime(), can_search=False)) as url, visiting(url) as client:
        answer = await client.get("/threads", params={"search": "hi"})

    assert answer.status_code == 400
    assert "does not support `search`" in answer.text


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"limit": "0"}, 200),
        ({"limit": "1000000"}, 200),
        ({"limit": "-1"}, 400),
        ({"limit": "x"}, 400),
        ({"limit": ""}, 400),
        ({"limit": "٣"}, 400),
        ({"limit": "9" * 5000}, 400),
        ({"cursor": "9" * 5000}, 400),
        ({"cursor": "x"}, 400),
        ({"cursor": "-1"}, 400),
        ({"cursor": "500"}, 400),
        ({"cursor": "0"}, 200),
        ({"cursor": ""}, 200),
        ({"cursor": "2026-01-01T00:00:00.000000Z/a/b"}, 200),
    ],
)
async def test_a_limit_is_a_number_and_a_cursor_ends_a_page(serve: Serve, query: dict[str, str], status: int) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, "t-1", "t-2")
        answer = await client.get("/threads", params=query)

    assert answer.status_code == status
    assert ("threads" in answer.json()) is (status == 200)


# Read


async def test_messages_are_those_of_every_role(serve: Serve) -> None:
    async def look(invocation: Invocation) -> str:
        return "21 °C"

    tool = Tool("look", "Look.", {"type": "object"}, run=look)
    model = ScriptedModel([calls("look", '{"a": 1}'), says("Warm")])
    image = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
    parts = [{"type": "text", "text": "This?"}, image | {"metadata": {"filename": "a.png"}}]

    async with (
        serve(app(runtime(looking=Loop(model, [FunctionToolbox([tool])])))) as url,
        visiting(url) as client,
    ):
        given = asking(messages=[{"id": "u", "role": "user", "content": parts}])
        await client.post("/agent/looking/run", json=given)
        messages = (await client.get("/threads/t-1/messages")).json()["messages"]

    user, call, result, answer = messages
    assert user == {"id": "u", "role": "user", "content": parts}
    assert call["toolCalls"] == [{"id": "call_1", "name": "look", "args": '{"a": 1}'}]
    assert result == {"id": "result-call_1", "role": "tool", "toolCallId": "call_1", "content": "21 °C"}
    assert (answer["role"], answer["content"]) == ("assistant", "Warm")


async def test_events_are_those_that_a_client_connects_to(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, "t-1", "t-1")
        events = (await client.get("/threads/t-1/events")).json()["events"]
        connected = read((await client.post(CONNECT, json=asking(None))).content)

    assert events == [frame.data for frame in connected]


async def test_the_state_is_the_one_that_the_last_run_left(serve: Serve) -> None:
    model = ScriptedModel(
        [calls("AGUISendStateSnapshot", '{"snapshot": {"count": 1}}'), says("Done"), says("Nothing new")]
    )
    counting = Loop(model, [FunctionToolbox(state_tools)])

    async with serve(app(runtime(counting=counting))) as url, visiting(url) as client:
        states = [(await client.get("/threads/t-1/state")).json()["state"]]
        for run, given in (("r-1", {}), ("r-2", {}), ("r-3", {"mine": True})):
            await client.post("/agent/counting/run", json=asking(run=run, state=given))
            states.append((await client.get("/threads/t-1/state")).json()["state"])

    assert states[:3] == [None, {"count": 1}, {"count": 1}]
    assert states[3] == {"count": 1}  # the model was asked a third time, and set it again


@pytest.mark.parametrize(
    ("path", "body"),
    [("messages", {"messages": []}), ("events", {"events": []}), ("state", {"state": None})],
)
async def test_an_unknown_thread_is_empty(serve: Serve, path: str, body: object) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.get(f"/threads/none/{path}")

    assert (answer.status_code, answer.json()) == (200, body)


async def test_a_thread_can_be_read_while_its_run_is_live(serve: Serve) -> None:
    model = Told()

    async with (
        serve(app(runtime(model))) as url,
        visiting(url) as client,
        Reader.open(url, RUN, asking()) as reader,
    ):
        model.say("Hel")
        await reader.until("TEXT_MESSAGE_CONTENT")
        events = (await client.get("/threads/t-1/events")).json()["events"]
        in_list = await listed(client)
        messages, state = [(await client.get(f"/threads/t-1/{what}")).status_code for what in ("messages", "state")]
        model.say("lo", None)
        await reader.rest()

    assert [event["type"] for event in events] == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    assert (in_list, messages, state) == (["t-1"], 200, 200)


# Change


async def test_a_thread_gets_another_name(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, "t-1", "t-2")
        answer = await client.patch("/threads/t-1", json={"agentId": "default", "name": "Überblick 🛩"})
        names = [thread["name"] for thread in (await client.get("/threads")).json()["threads"]]

    assert answer.status_code == 200
    assert (answer.json()["id"], answer.json()["name"]) == ("t-1", "Überblick 🛩")
    assert sorted(names) == ["Hi t-2", "Überblick 🛩"]


async def test_a_thread_goes_into_the_archive_and_comes_back(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, "t-1", "t-2")
        archived = await client.post("/threads/t-1/archive", json={"agentId": "default"})
        usual, all_of_them = await listed(client), await listed(client, includeArchived="true")
        history = text_of(read((await client.post(CONNECT, json=asking(None))).content))
        back = await client.patch("/threads/t-1", json={"agentId": "default", "archived": False})
        again = await listed(client)

    assert (archived.json()["archived"], back.json()["archived"]) == (True, False)
    assert (usual, sorted(all_of_them), sorted(again)) == (["t-2"], ["t-1", "t-2"], ["t-1", "t-2"])
    assert history == "Hello"


async def test_a_deleted_thread_is_gone_and_its_id_can_be_used_again(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, "t-1")
        answer = await client.request("DELETE", "/threads/t-1", json={"agentId": "default"})
        left = [
            await listed(client, includeArchived="true"),
            (await client.get("/threads/t-1/messages")).json()["messages"],
            (await client.get("/threads/t-1/events")).json()["events"],
            (await client.post(CONNECT, json=asking(None))).content,
        ]
        statuses = [
            (await client.get("/threads/t-1/stream")).status_code,
            (await client.delete("/threads/t-1")).status_code,
        ]
        await said(client, "t-1")
        messages = (await client.get("/threads/t-1/messages")).json()["messages"]

    assert answer.json() == {"deleted": True, "id": "t-1"}
    assert left == [[], [], [], b""]
    assert statuses == [404, 404]
    assert len(messages) == 2


async def test_a_thread_is_changed_while_its_run_is_live(serve: Serve) -> None:
    model = Told()

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        async with Reader.open(url, RUN, asking()) as reader:
            model.say("Hel")
            await reader.until("TEXT_MESSAGE_CONTENT")
            await client.patch("/threads/t-1", json={"name": "Live"})
            await client.post("/threads/t-1/archive")
            model.say("lo", None)
            await reader.rest()
        (thread,) = (await client.get("/threads", params={"includeArchived": "true"})).json()["threads"]

    assert reader.text == "Hello"
    assert (thread["name"], thread["archived"]) == ("Live", True)


async def test_deleting_a_thread_stops_its_run(serve: Serve) -> None:
    model = Told()

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        async with Reader.open(url, RUN, asking()) as reader:
            model.say("Hel")
            await reader.until("TEXT_MESSAGE_CONTENT")
            answer = await client.delete("/threads/t-1")
            await reader.rest()
        async with asyncio.timeout(30):
            await model.closed.wait()
        left = await listed(client, includeArchived="true")
        events = (await client.get("/threads/t-1/events")).json()["events"]

    assert answer.status_code == 200
    assert reader.types[-2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    assert (left, events) == ([], [])


@pytest.mark.parametrize(
    ("method", "path"), [("PATCH", "/threads/t"), ("DELETE", "/threads/t"), ("POST", "/threads/t/archive")]
)
async def test_a_thread_that_there_is_not_cannot_be_changed(serve: Serve, method: str, path: str) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await client.request(method, path, json={"name": "x"})

    assert (answer.status_code, answer.json()) == (
        404,
        {"error": "thread_not_found", "message": "Thread 't' not found.", "code": "thread_not_found"},
    )


async def test_threads_are_not_cleared_all_at_once(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        await said(client, "t-1")
        answer = await client.post("/threads/clear", json={})
        left = await listed(client)

    assert (answer.status_code, answer.json()["code"], left) == (403, "not_allowed", ["t-1"])


# Two users


async def test_each_user_has_threads_of_their_own(serve: Serve) -> None:
    threads = MemoryThreads()

    async with (
        serve(app(runtime(threads=threads), access=KEYS)) as url,
        visiting(url) as client,
    ):
        await said(client, "t-alice", **ALICE)
        await said(client, "t-bob", **BOB)
        lists = [await listed(client, headers) for headers in (ALICE, BOB)]
        stolen = [
            (await client.patch("/threads/t-alice", json={"name": "Bob's"}, headers=BOB)).status_code,
            (await client.post("/threads/t-alice/archive", headers=BOB)).status_code,
            (await client.delete("/threads/t-alice", headers=BOB)).status_code,
            (await client.get("/threads/t-alice/stream", headers=BOB)).status_code,
            (await client.post(RUN, json=asking(thread="t-alice"), headers=BOB)).status_code,
        ]
        seen = [
            (await client.get(f"/threads/t-alice/{what}", headers=BOB)).json()
            for what in ("messages", "events", "state")
        ]
        connected = await client.post(CONNECT, json=asking(None, thread="t-alice"), headers=BOB)
        own = (await client.get("/threads/t-alice/messages", headers=ALICE)).json()["messages"]

    assert lists == [["t-alice"], ["t-bob"]]
    assert stolen == [404] * 5
    assert seen == [{"messages": []}, {"events": []}, {"state": None}]
    assert connected.content == b""
    assert [message["content"] for message in own] == ["Hi t-alice", "Hello"]
    assert await threads.list(ANYONE) == []
