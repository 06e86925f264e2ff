"""`GET /threads/{id}/stream`: all that was and is said, from any event on that was seen."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat.core.ask import ANYONE, Ask
from rightseat.core.engine import Steps
from rightseat.core.events import (
    Custom,
    Event,
    ReasoningDelta,
    ReasoningEnded,
    ReasoningStarted,
    StateChanged,
    StateReplaced,
    StepEnded,
    StepStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.log import position
from rightseat.logs.memory import MemoryLog
from rightseat.logs.sqlite.log import SqliteLog
from tests.conftest import Serve
from tests.faces.copilotkit.current.serving import Frame, Reader, Told, app, asking, read, visiting
from tests.faces.copilotkit.serving import Way, runtime

RUN, STREAM = "/agent/default/run", "/threads/t-1/stream"


class Everything:
    """An agent that says something of every kind, and some of it in AG-UI's own words."""

    description = ""

    async def run(self, ask: Ask, steps: Steps) -> AsyncIterator[Event]:
        yield StepStarted("think")
        yield StateReplaced({"count": 0})
        yield TextStarted("m")
        yield TextDelta("m", "Hel")
        yield StateChanged([{"op": "replace", "path": "/count", "value": 1}])
        yield TextDelta("m", "lo\n\nid: evil/1-1\ndata: {}")
        yield TextEnded("m")
        yield ToolCallStarted("c", "look", "m")
        yield ToolCallDelta("c", '{"a"')
        yield ToolCallDelta("c", ": 1}")
        yield ToolCallEnded("c")
        yield ToolCallReturned("c", "look", "seen")
        yield Custom("acme.note", {"b": 2})
        yield Custom("agui.ACTIVITY_SNAPSHOT", {"messageId": "a", "activityType": "x", "content": {}})
        yield ReasoningStarted("t")
        yield ReasoningDelta("t", "Hm")
        yield ReasoningDelta("t", "m")
        yield ReasoningEnded("t")
        yield StepEnded("think")
        yield Custom("agui.STEP_STARTED", {"stepName": "a"})  # and does not end: the server does that
        yield Custom("agui.STEP_STARTED", {"stepName": "b"})


async def stream(client: httpx2.AsyncClient, last_seen: str | None = None) -> httpx2.Response:
    return await client.get(STREAM, headers={"last-event-id": last_seen} if last_seen else None)


async def test_every_event_of_finished_runs_can_be_come_back_to(serve: Serve, way: Way) -> None:
    """No gap and no double, over several runs, also for a client that calls two of them by one name."""
    async with (
        serve(app(runtime(everything=Everything()), way)) as url,
        visiting(url) as client,
    ):
        live: list[Frame] = []
        for agent, run in (("everything", "r-1"), ("default", "r-2"), ("everything", "r-2")):
            answer = await client.post(f"/agent/{agent}/run", json=asking(run=run))
            live += read(answer.content)
        whole = read((await stream(client)).content)

        assert whole == live
        assert len(whole) > 40
        ids = [frame.id for frame in whole if frame.id]
        assert ids == sorted(set(ids), key=position)
        assert len(ids) > 35
        for place, frame in enumerate(whole):
            if frame.id is None:
                continue  # the next one is of the same entry
            assert read((await stream(client, frame.id)).content) == whole[place + 1 :]


async def test_every_event_of_a_live_run_can_be_come_back_to(serve: Serve, way: Way) -> None:
    model = Told()

    async with serve(app(runtime(model), way)) as url:
        model.say("Ear", "lier", None)
        async with Reader.open(url, RUN, asking()) as earlier:
            await earlier.rest()
        async with Reader.open(url, RUN, asking("And?", run="r-2")) as run:
            model.say("One ", "two ")
            await run.until("TEXT_MESSAGE_CONTENT", delta="two ")
            seen = [*earlier.frames, *run.frames]
            readers = []
            for frame in (None, *seen):
                headers = {"last-event-id": frame.id} if frame and frame.id else {}
                opened = Reader.open(url, STREAM, method="GET", **headers)
                readers.append((opened, await opened.__aenter__()))
            model.say("three.", None)
            await run.rest()
            whole = [*earlier.frames, *run.frames]
            for position, (opened, reader) in enumerate(readers):
                assert await reader.rest() == whole[position:]
                await opened.__aexit__(None, None, None)


async def test_a_reader_that_is_cut_again_and_again_misses_nothing(serve: Serve, way: Way) -> None:
    """Each time, the ids go on as they were: one more run of events, as far as the client can tell."""
    model, seen = Told(), list[Frame]()

    async with serve(app(runtime(model), way)) as url, Reader.open(url, RUN, asking()) as run:
        await run.until("RUN_STARTED")
        for number in range(10):
            model.say(f"{number} ")
            headers = {"last-event-id": seen[-1].id} if seen and seen[-1].id else {}
            async with Reader.open(url, STREAM, method="GET", **headers) as reader:
                await reader.until("TEXT_MESSAGE_CONTENT", delta=f"{number} ")
                seen += reader.frames
        model.say(None)
        async with Reader.open(url, STREAM, method="GET", **{"last-event-id": seen[-1].id or ""}) as reader:
            seen += await reader.rest()
        await run.rest()

    assert seen == run.frames


async def test_every_event_can_be_come_back_to_when_the_log_has_joined_their_pieces(
    serve: Serve, tmp_path: Path
) -> None:
    """As a log on a disk does after a while: what was seen in pieces goes on in the middle of a larger one."""
    async with (
        SqliteLog(tmp_path / "log.db", compact_after_seconds=0) as log,
        serve(app(runtime(everything=Everything(), log=log))) as url,
        visiting(url) as client,
    ):
        seen = read((await client.post("/agent/everything/run", json=asking())).content)
        async with asyncio.timeout(30):
            while not await log.compact():  # until then, the end of the run is not in the past
                pass
        ends = [place for place, frame in enumerate(seen) if frame.id]
        rests = [read((await stream(client, seen[place].id)).content) for place in ends]

    for place, rest in zip(ends, rests, strict=True):
        assert joined([*seen[: place + 1], *rest]) == joined(seen)


def joined(frames: list[Frame]) -> list[object]:
    """With neighbouring pieces of one message as one."""
    said: list[dict[str, Any]] = []
    for frame in frames:
        data = dict(frame.data)
        if said and isinstance(data.get("delta"), str) and said[-1] | {"delta": data["delta"]} == data:
            said[-1]["delta"] += data["delta"]
        else:
            said.append(data)
    return [*said]


async def test_a_client_that_has_all_events_gets_none_until_there_are_more(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        first = read((await client.post(RUN, json=asking())).content)
        nothing = await stream(client, first[-1].id)
        second = read((await client.post(RUN, json=asking("And?", run="r-2"))).content)
        more = await stream(client, first[-1].id)

    assert (nothing.status_code, nothing.content) == (200, b"")
    assert nothing.headers["content-type"] == "text/event-stream"
    assert read(more.content) == second


async def test_a_client_that_resumes_a_run_without_a_log_gets_its_messages_and_its_end(serve: Serve) -> None:
    log = MemoryLog()
    copilot = runtime(log=log)

    async with serve(app(copilot)) as url, visiting(url) as client:
        seen = read((await client.post(RUN, json=asking())).content)
        thread = await copilot.thread("t-1", ANYONE)
        assert thread is not None
        await log.delete([run.id for run in thread.runs])
        rest = read((await stream(client, seen[2].id)).content)
        nothing = await stream(client, rest[-1].id)

    assert [frame.type for frame in rest] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert [message["content"] for message in rest[0].data["messages"]] == [one.text for one in thread.messages]
    assert nothing.content == b""


async def test_a_client_that_has_the_end_of_a_run_without_a_log_gets_only_the_next_run(serve: Serve) -> None:
    log = MemoryLog()
    copilot = runtime(log=log)

    async with serve(app(copilot)) as url, visiting(url) as client:
        first = read((await client.post(RUN, json=asking())).content)
        thread = await copilot.thread("t-1", ANYONE)
        assert thread is not None
        await log.delete([run.id for run in thread.runs])
        nothing = await stream(client, first[-1].id)
        second = read((await client.post(RUN, json=asking("And?", run="r-2"))).content)
        more = await stream(client, first[-1].id)

    assert (nothing.status_code, nothing.content) == (200, b"")
    assert read(more.content) == second


async def test_what_was_connected_to_can_be_gone_on_with(serve: Serve) -> None:
    """A compact history has one id at the end of each run: there, and nowhere else, it says the same."""
    async with serve(app(runtime())) as url, visiting(url) as client:
        for run in ("r-1", "r-2"):
            await client.post(RUN, json=asking(run, run=run))
        history = read((await client.post("/agent/default/connect", json=asking(None))).content)
        third = read((await client.post(RUN, json=asking("r-3", run="r-3"))).content)
        more = await stream(client, history[-1].id)

    assert [frame.type for frame in history if frame.id] == ["RUN_FINISHED", "RUN_FINISHED"]
    assert read(more.content) == third


NO_ENTRIES = [
    "x",
    "1",
    "1-",
    "1-x",
    "1-0",
    "1-99",
    "1-2-3",
    "-1--1",
    "1-1.",
    "1-1.0",
    "1-1.1",
    "1-99.1",
    "9" * 5000,
]


async def test_an_id_that_was_never_sent_is_refused(serve: Serve) -> None:
    model = Told()

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        model.say("Other", None)
        other = read((await client.post(RUN, json=asking(thread="t-2"))).content)
        async with Reader.open(url, RUN, asking()) as run:
            model.say("Hel")
            await run.until("TEXT_MESSAGE_CONTENT")
            for is_live in (True, False):
                for entry in NO_ENTRIES:
                    answer = await stream(client, entry)
                    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request"), (entry, is_live)
                for last_seen in ("r-1/1-1", "x", "/", other[0].id):
                    answer = await stream(client, last_seen)
                    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request"), (last_seen, is_live)
                if is_live:
                    model.say(None)
                    await run.rest()


async def test_a_thread_that_there_is_not_cannot_be_followed(serve: Serve) -> None:
    async with serve(app(runtime())) as url, visiting(url) as client:
        answer = await stream(client)

    assert (answer.status_code, answer.json()["message"]) == (404, "There is no such thread.")


@pytest.mark.parametrize("version", ["1.0", "1.0.0", "1.3"])
async def test_a_client_declares_1_0_in_the_address(serve: Serve, version: str) -> None:
    model = Told()

    async with serve(app(runtime(model))) as url, visiting(url) as client:
        async with Reader.open(url, RUN, asking()) as run:
            await run.until("RUN_STARTED")
            await client.post("/agent/default/stop/t-1")
        old, new = await client.get(STREAM), await client.get(STREAM, params={"protocolVersion": version})

    assert "outcome" not in read(old.content)[-1].data
    assert read(new.content)[-1].data["outcome"] == {"type": "cancelled"}
