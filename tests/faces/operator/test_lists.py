"""The lists of the operator API: query parameters, pages, and changes that reach other tabs."""

from typing import Any

import pytest

from tests.conftest import Serve
from tests.faces.operator.test_operator import CHANGING, CONFIGURATION, Server, serving


async def get(server: Server, path: str, **query: str) -> Any:
    answer = await server.client.get(f"/operator/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def run(server: Server, text: str, thread: str) -> str:
    async with server.live(thread=thread) as stream:
        await stream.until("caught_up")
        started = await server.start(text, thread=thread)
        await stream.until_event("RunFinished")
    return started


async def test_a_list_has_threads_page_by_page_with_their_number(serve: Serve) -> None:
    async with serving(serve) as server:
        for number in range(3):
            await run(server, f"Question {number}", f"t{number}")
        first = await get(server, "threads", limit="2")
        second = await get(server, "threads", limit="2", after=first["next"])

    assert [one["id"] for one in first["threads"]] == ["t2", "t1"]
    assert [one["id"] for one in second["threads"]] == ["t0"]
    assert (first["total"], first["total_is_exact"], second["next"]) == (3, True, None)
    line = first["threads"][0]
    assert line.keys() == {
        *("id", "name", "agent", "owner", "state", "runs", "tokens", "milliseconds"),
        *("last", "created_at", "updated_at", "archived"),
    }
    assert (line["name"], line["owner"], line["state"], line["runs"]) == ("Question 2", "anyone", "done", 1)


async def test_a_word_finds_its_thread(serve: Serve) -> None:
    async with serving(serve) as server:
        await run(server, "主机上有漏洞", "t1")
        await run(server, "Something else", "t2")
        found = await get(server, "threads", q="漏洞")

    assert ([one["id"] for one in found["threads"]], found["total"], found["next"]) == (["t1"], 1, None)


async def test_runs_are_listed_with_their_numbers(serve: Serve) -> None:
    async with serving(serve) as server:
        first, second = await run(server, "One", "t1"), await run(server, "Two", "t2")
        page = await get(server, "runs", limit="1")
        rest = await get(server, "runs", limit="1", after=page["next"])
        of_thread = await get(server, "runs", thread="t1", outcome="done")
        shown = await get(server, f"runs/{first}")
        thread = await get(server, "threads/t1")

    assert [one["id"] for one in (*page["runs"], *rest["runs"])] == [second, first]
    assert [span["kind"] for span in shown.pop("spans")] == ["run", "model"]
    assert shown.pop("totals")["model_calls"] == 1
    assert of_thread["runs"] == [shown]
    assert thread["runs"] == [shown]
    assert shown.keys() == {
        *("id", "thread", "agent", "owner", "outcome", "through", "flow", "began_at", "milliseconds", "waited"),
        *("model_calls", "tool_calls", "tokens", "cost", "error", "kept", "downgraded", "feedback"),
    }
    assert (shown["outcome"], shown["through"], shown["owner"], shown["kept"]) == ("done", "operator", "anyone", True)
    assert (shown["model_calls"], shown["tool_calls"]) == (1, 0)
    assert (shown["tokens"], shown["cost"]) == (None, None)  # the scripted model reports none


async def test_a_thread_is_renamed_archived_and_deleted_and_other_tabs_receive_it(serve: Serve) -> None:
    async with serving(serve) as server:
        await run(server, "Question", "t1")
        async with server.live() as stream:
            client, changes = server.client, list[dict[str, Any]]()
            for method, body in (("PATCH", {"name": "New"}), ("PATCH", {"archived": True}), ("DELETE", {})):
                answer = await client.request(method, "/operator/threads/t1", json=body, headers=CHANGING)
                assert answer.status_code < 300, answer.text
                changes.append(await stream.until("thread"))
                if body == {"archived": True}:
                    listed = await get(server, "threads")
                    archived = await get(server, "threads", archived="true")

    assert changes == [{"id": "t1", "owner": "anyone", "deleted": is_deleted} for is_deleted in (False, False, True)]
    assert (listed["threads"], listed["total"]) == ([], 0)
    assert [(one["name"], one["archived"]) for one in archived["threads"]] == [("New", True)]


async def test_a_change_through_another_face_reaches_the_console(serve: Serve) -> None:
    text = CONFIGURATION.replace("faces: [", "faces: [{type: copilotkit}, ")
    async with serving(serve, text) as server:
        await run(server, "Question", "t1")
        async with server.live() as stream:
            await server.client.patch("/copilotkit/threads/t1", json={"name": "New"})
            assert (await stream.until("thread"))["id"] == "t1"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"state": "odd"}, "state is 'odd'; it must be one of running"),
        ({"archived": "maybe"}, "archived is 'maybe'; it must be one of false, true, all."),
        ({"since": "yesterday"}, "since is 'yesterday'; it must be a time such as"),
        ({"limit": "many"}, "limit is 'many'; it must be a number."),
        ({"after": "x"}, "'x' is not the cursor of a page of threads."),
    ],
)
async def test_a_query_that_is_wrong_is_explained(serve: Serve, query: dict[str, str], message: str) -> None:
    async with serving(serve) as server:
        answer = await server.client.get("/operator/threads", params=query)

    assert answer.status_code == 400
    assert message in answer.json()["message"]
