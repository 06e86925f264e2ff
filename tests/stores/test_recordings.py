"""What a replay needs: the asks of runs, the payloads of answers, and the recordings of transient runs."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.ask import Answer, Ask, Context, Parameters, Principal, ToolOffer
from rightseat.core.errors import StoreUnreachable
from rightseat.core.events import (
    Interrupt,
    RunFinished,
    RunStarted,
    SpanStarted,
    TextDelta,
    TextEnded,
    TextStarted,
)
from rightseat.core.log import Entry, Writer
from rightseat.core.messages import user
from rightseat.logs.memory import MemoryLog
from rightseat.operations import run_recorder
from rightseat.operations.recordings import REMOVED, RecordedAsk, RunRecording
from rightseat.operations.run_recorder import RunRecorder
from rightseat.stores.databases import connect
from rightseat.stores.recordings import SqlRecordings
from rightseat.stores.sql import SqlThreads

ANNA = Principal("anna")
CHART = ToolOffer("show_chart", "Shows a chart.", {"type": "object"})
EVENTS = (
    RunStarted("r", "t", "clerk"),
    TextStarted("m"),
    TextDelta("m", "Hel"),
    TextDelta("m", "lo"),
    TextEnded("m"),
)
RECORDING = RunRecording(
    run="r",
    thread="t",
    owner="anna",
    agent="clerk",
    face="openai",
    ask=RecordedAsk(tools=(CHART,)),
    messages=(user("Hi\0"),),
    payloads={"q": {"amount": 7}},
    events=EVENTS,
    is_transient=True,
)
SOON, LATER = "2999-01-01T00:00:00.000Z", "2999-02-01T00:00:00.000Z"


@pytest.fixture
async def store(where: Path | str) -> AsyncIterator[SqlThreads]:
    async with SqlThreads(connect(where)) as threads:
        yield threads


def ask(**given: Any) -> Ask:
    known: dict[str, Any] = {"messages": (user("Hi"),), "thread_id": "t", "run_id": "r", "principal": ANNA}
    return Ask(**(known | given))


async def finish(store: SqlThreads, asked: Ask, last: RunFinished | None = None) -> None:
    await store.claim(asked)
    await store.finish(asked, (), None, last or RunFinished("done"))


async def test_the_ask_of_an_ended_run_is_stored_without_its_credentials(store: SqlThreads) -> None:
    properties = {"authorization": "Bearer abc", "user": {"api_key": "sk-1", "theme": "dark"}, "tokens": ["x"]}
    asked = ask(
        tools=(CHART,),
        context=(Context("The page", "orders"),),
        parameters=Parameters(temperature=0.0, stop=("END",)),
        state={"cart": [7]},
        properties=properties,
        headers={"authorization": "Bearer abc"},
    )
    await finish(store, asked)

    (stored,) = (await store.recordings.read_asks("t")).values()

    assert stored == RecordedAsk(
        (CHART,),
        {"temperature": 0.0, "stop": ["END"]},
        (Context("The page", "orders"),),
        {"cart": [7]},
        {"authorization": REMOVED, "user": {"api_key": REMOVED, "theme": "dark"}, "tokens": [REMOVED]},
    )


async def test_the_payload_of_an_answer_is_stored_beside_its_question(store: SqlThreads) -> None:
    questions = (Interrupt("q1", "approval", "Refund?"), Interrupt("q2", "approval", "Mail?"))
    await finish(store, ask(), RunFinished("waiting", questions))
    answers = (Answer("q1", "resolved", {"amount": 5}), Answer("q2", "cancelled"))
    await finish(store, ask(run_id="r2", messages=(), answers=answers))

    assert await store.recordings.read_payloads("t") == {"q1": {"amount": 5}}
    record = await store.thread_record("t", "anna")
    assert record is not None
    assert {one.interrupt.id: one.payload for one in record.approvals} == {"q1": {"amount": 5}, "q2": None}


async def test_an_exported_thread_has_what_its_client_sent(store: SqlThreads) -> None:
    await finish(store, ask(tools=(CHART,)))

    record = await store.thread_record("t", "anna")
    assert record is not None
    assert record.requests == {"r": RecordedAsk((CHART,))}


async def test_a_deleted_thread_takes_asks_payloads_and_recordings_with_it(store: SqlThreads) -> None:
    await finish(store, ask(run_id="r0", tools=(CHART,)))
    await store.recordings.add(RECORDING, SOON)

    await store.delete("t", ANNA)

    assert await store.recordings.read_asks("t") == {}
    assert await store.recordings.find("r") is None


async def test_a_recording_is_read_as_it_was_written(store: SqlThreads) -> None:
    await store.recordings.add(RECORDING, SOON)
    await store.recordings.add(RECORDING, SOON)

    assert await store.recordings.find("r") == RECORDING
    assert await store.recordings.list_thread("t", "anna") == [RECORDING]
    assert await store.recordings.list_thread("t", "ben") == []
    assert await store.recordings.find("other\0") is None


async def test_a_user_is_forgotten_with_the_recordings(store: SqlThreads) -> None:
    await store.recordings.add(RECORDING, SOON)

    assert len(await store.recordings.read_user("anna")) == 1
    assert await store.recordings.forget_user("ben") == 0
    assert await store.recordings.forget_user("anna") == 1
    assert await store.recordings.read_user("anna") == []


async def test_a_recording_expires_unless_it_is_kept(store: SqlThreads) -> None:
    for name in ("old", "kept"):
        await store.recordings.add(RunRecording(run=name, thread="t", owner="anna", agent="clerk"), "2001-01-01T00:00Z")
    await store.recordings.keep("kept", LATER)
    await store.recordings.keep("kept", SOON)  # never sooner

    async for _ in store.expire():
        pass

    assert await store.recordings.find("old") is None
    assert await store.recordings.find("kept") is not None


async def test_a_transient_run_is_recorded_before_its_last_event(store: SqlThreads) -> None:
    log = MemoryLog()
    await log.create("r", transient=True)
    recorder = RunRecorder(store.recordings, 14)
    asked = ask(transient=True, tools=(CHART,), answers=(Answer("q", "resolved", True),), face="openai")
    async with log.open("r", 1) as opened:
        writer = recorder.record(asked, opened)
        for event in EVENTS:
            await writer.append(event)
        writer.append_nowait(SpanStarted("s", "model", "a", 0))
        assert await store.recordings.find("r") is None
        await writer.append(RunFinished("done"))
        await writer.flush()

    found = await store.recordings.find("r")
    assert found is not None
    assert (found.owner, found.face, found.messages, found.payloads) == ("anna", "openai", asked.messages, {"q": True})
    assert found.ask == RecordedAsk((CHART,))
    assert found.events == (
        *EVENTS[:2],
        TextDelta("m", "Hello"),
        TextEnded("m"),
        RunFinished("done"),
    )


async def test_suggestions_are_not_recorded(store: SqlThreads) -> None:
    async with MemoryLogOf("r") as opened:
        assert RunRecorder(store.recordings, 14).record(ask(purpose="suggestions"), opened) is opened


async def test_a_run_goes_on_whose_recording_cannot_be_stored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Unreachable(SqlRecordings):
        async def add(self, recording: RunRecording, expires_at: str) -> None:
            raise StoreUnreachable

    async with MemoryLogOf("r") as opened:
        writer = RunRecorder(Unreachable(connect(tmp_path / "no.db")), 14).record(ask(), opened)
        last = await writer.append(RunFinished("done"))

    assert isinstance(last, Entry)
    assert "run r is not recorded" in caplog.text


async def test_a_run_that_is_too_large_is_not_recorded(
    store: SqlThreads, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_recorder, "MAX_RECORDED_CHARS", 4)
    async with MemoryLogOf("r") as opened:
        writer = RunRecorder(store.recordings, 14).record(ask(), opened)
        for event in (*EVENTS, RunFinished("done")):
            await writer.append(event)

    assert await store.recordings.find("r") is None
    assert "run r is not recorded: it has more than 4 characters" in caplog.text


class MemoryLogOf:
    """The open writer of a new run."""

    def __init__(self, run: str) -> None:
        self._log, self._run = MemoryLog(), run

    async def __aenter__(self) -> Writer:
        await self._log.create(self._run, transient=True)
        self._open = self._log.open(self._run, 1)
        return await self._open.__aenter__()

    async def __aexit__(self, *raised: Any) -> None:
        await self._open.__aexit__(*raised)
