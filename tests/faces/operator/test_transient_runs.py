"""Runs that are not stored, in the lists of the operator API."""

from typing import Any

import pytest

from tests.conftest import Serve
from tests.faces.operator.test_operator import CONFIGURATION, Server, serving
from tests.faces.operator.test_rights import KEYS, SECRET, User

WITH_OPENAI = CONFIGURATION.replace("faces: [", "faces: [{type: openai}, ")


async def complete(server: Server, text: str, **headers: str) -> None:
    body = {"model": "default", "messages": [{"role": "user", "content": text}]}
    answer = await server.client.post("/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 200, answer.text


async def get(server: Server, path: str, **query: str) -> Any:
    answer = await server.client.get(f"/operator/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def store(server: Server, thread: str) -> str:
    async with server.live(thread=thread) as stream:
        await stream.until("caught_up")
        run = await server.start("Hello", thread=thread)
        await stream.until_event("RunFinished")
    return run


async def test_a_transient_run_is_listed_and_shown_with_its_spans(serve: Serve) -> None:
    async with serving(serve, WITH_OPENAI) as server:
        await complete(server, SECRET)
        (line,) = (await get(server, "runs"))["runs"]
        shown = await get(server, f"runs/{line['id']}")
        text = (await server.client.get(f"/operator/runs/{line['id']}")).text
        entries = await server.client.get(f"/operator/runs/{line['id']}/entries")

    assert (line["kept"], line["through"], line["outcome"], line["model_calls"]) == (False, "openai", "done", 1)
    assert [span["kind"] for span in shown["spans"]] == ["run", "model"]
    assert all(span["to"] is not None for span in shown["spans"])
    assert shown["totals"]["model_calls"] == 1
    assert SECRET not in text
    assert entries.status_code == 404


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
async def test_pages_have_stored_and_transient_runs_in_the_order_of_their_starts(serve: Serve, limit: int) -> None:
    async with serving(serve, WITH_OPENAI) as server:
        for number in range(2):
            await complete(server, "One")
            await complete(server, "Two")
            await store(server, f"t{number}")
        await complete(server, "Three")
        pages: list[list[dict[str, Any]]] = []
        after: dict[str, str] = {}
        while True:
            page = await get(server, "runs", limit=str(limit), **after)
            pages.append(page["runs"])
            if page["next"] is None:
                break
            after = {"after": page["next"]}

    runs = [run for page in pages for run in page]
    assert [run["kept"] for run in runs] == [False, True, False, False, True, False, False]
    assert len({run["id"] for run in runs}) == 7
    assert [run["began_at"] for run in runs] == sorted((run["began_at"] for run in runs), reverse=True)
    assert all(0 < len(page) <= limit for page in pages)


async def test_a_transient_run_of_another_user_needs_the_right_to_watch(serve: Serve) -> None:
    async with serving(serve, WITH_OPENAI + KEYS) as server:
        await complete(server, SECRET, authorization="Bearer key-bob")
        (line,) = (await User(server, "bob").get("runs")).json()["runs"]
        own = {name: (await User(server, name).get("runs")).json()["runs"] for name in ("alice", "olga", "wu", "slow")}
        shown = {
            name: (await User(server, name).get(f"runs/{line['id']}")).status_code
            for name in ("bob", "alice", "olga", "wu", "slow")
        }
        watched = (await User(server, "wu").get("runs", owner="*")).json()["runs"]
        refused = await User(server, "alice").get("runs", owner="*")
        narrow = (await User(server, "slow").get("runs", owner="*")).json()["runs"]

    assert own == {"alice": [], "olga": [], "wu": [], "slow": []}
    assert shown == {"bob": 200, "alice": 404, "olga": 200, "wu": 200, "slow": 404}
    assert watched == [line]
    assert refused.status_code == 403
    assert narrow == []
