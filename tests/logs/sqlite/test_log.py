"""What only the log in a file promises: it lasts, it is not told twice who writes, and it takes little room."""

import asyncio
import itertools
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.core.errors import ConfigError, RunNotFound, StaleWriter, StorageFull, UnreadableEvent
from rightseat.core.events import (
    Custom,
    Event,
    ReasoningDelta,
    RunFailed,
    RunFinished,
    RunStarted,
    StateReplaced,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
)
from rightseat.core.log import Entry, Log, Writer
from rightseat.core.run.recovery import CUT_OFF
from rightseat.logs.run_buffer import LARGE_ENTRY_BYTES, MAX_UNCOMMITTED_ENTRIES
from rightseat.logs.sqlite import compaction
from rightseat.logs.sqlite import log as sqlite
from rightseat.logs.sqlite.database import LogDatabase
from rightseat.logs.sqlite.log import Options, SqliteLog, build
from rightseat.logs.sqlite.writer import MIN_COMMIT_INTERVAL_S, commit_interval
from rightseat.testing import check_order
from tests.conditions import Paced, settle
from tests.profiles import examples


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def deltas(count: int) -> list[Event]:
    return [TextDelta("m", str(number)) for number in range(count)]


async def write(log: Log, run_id: str, events: Sequence[Event], *, epoch: int = 1) -> None:
    await log.create(run_id)
    async with log.open(run_id, epoch) as writer:
        for event in events:
            await writer.append(event)


async def events_of(log: Log, run_id: str, after: str | None = None) -> list[Event]:
    return [entry.event async for batch in log.follow(run_id, after) for entry in batch]


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


# It lasts


async def test_a_run_is_read_by_the_next_process_as_it_was_written(path: Path) -> None:
    async with SqliteLog(path) as log:
        await write(log, "r", [*deltas(50), RunFinished("done")], epoch=3)
    async with SqliteLog(path) as log:
        entries = await log.read("r")

        assert [entry.event for entry in entries] == [*deltas(50), RunFinished("done")]
        assert [entry.id for entry in entries] == [f"3-{number}" for number in range(1, 52)]
        assert await events_of(log, "r", after="3-50") == [RunFinished("done")]
        with pytest.raises(RunNotFound):
            log.follow("nobody")


async def test_nothing_is_shown_before_it_is_kept(path: Path) -> None:
    async with asyncio.timeout(30), SqliteLog(path) as log:
        await log.create("r")
        async with log.open("r", 1) as writer, aclosing(log.follow("r")) as batches:
            for number, event in enumerate(deltas(20), start=1):
                await writer.append(event)
                await anext(batches)
                [(kept,)] = rows(path, "SELECT max(first_seq) FROM log_records")
                assert kept == number


WRITING = """
import asyncio, sys
from pathlib import Path
from rightseat.core.events import RunStarted, TextDelta, TextStarted
from rightseat.logs.sqlite.log import SqliteLog

async def write(log, run_id):
    await log.create(run_id)
    async with log.open(run_id, 1) as writer:
        await writer.append(RunStarted(run_id, "t", "a"))
        await writer.append(TextStarted("m"))
        for number in range(1_000_000):
            await writer.append(TextDelta("m", f"{number} "))
            await asyncio.sleep(0.0005)

async def show(log, run_id):
    async for batch in log.follow(run_id):
        sys.stdout.write("".join(f"{run_id} {entry.id}\\n" for entry in batch))
        sys.stdout.flush()

async def main(path):
    async with SqliteLog(Path(path)) as log:
        writing = [asyncio.create_task(write(log, f"r{number}")) for number in range(5)]
        await asyncio.sleep(0.05)
        await asyncio.gather(*writing, *(show(log, f"r{number}") for number in range(5)))

asyncio.run(main(sys.argv[1]))
"""


async def kill_after(path: Path, lines: int) -> list[tuple[str, str]]:
    """Have a process write five runs at once, kill it in the middle, and say what it had shown of them."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WRITING, str(path), stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    shown = [await child.stdout.readline() for _ in range(lines)]
    child.kill()
    shown += (await child.stdout.read()).splitlines(keepends=True)
    await child.wait()
    complete = [line.decode().split() for line in shown if line.endswith(b"\n")]
    return [(run_id, entry_id) for run_id, entry_id in complete]


@pytest.mark.parametrize("lines", [1, 57, 500, 2000])
async def test_after_a_kill_everything_that_was_shown_is_there(path: Path, lines: int) -> None:
    async with asyncio.timeout(30):
        shown = await kill_after(path, lines)
        async with SqliteLog(path) as log:
            cut_off = sorted(await log.unfinished_runs())
            kept = {run_id: [entry.id for entry in await log.read(run_id)] for run_id, _ in cut_off}

    assert cut_off == [(f"r{number}", 1) for number in range(5)]
    for run_id, ids in kept.items():
        assert ids == [f"1-{number}" for number in range(1, len(ids) + 1)]
        mine = [entry_id for shown_id, entry_id in shown if shown_id == run_id]
        assert mine == ids[: len(mine)]


async def test_a_run_whose_process_died_continues_under_a_higher_epoch(path: Path) -> None:
    async with asyncio.timeout(30):
        await kill_after(path, 500)
        async with SqliteLog(path) as log:
            before = await log.read("r0")
            async with log.open("r0", 2) as writer:
                reading = asyncio.create_task(events_of(log, "r0", after="1-10"))
                await writer.append(TextEnded("m", complete=False))
                await writer.append(RunFailed("cut_off", CUT_OFF))
            after = await log.read("r0")

            assert await reading == [entry.event for entry in after[10:]]

    assert list(after[: len(before)]) == list(before)
    assert [entry.id for entry in after[-2:]] == [f"2-{len(before) + 1}", f"2-{len(before) + 2}"]
    check_order([entry.event for entry in after])


# One writer


@pytest.mark.parametrize("epoch", [1, 2])
async def test_another_process_opens_a_run_only_under_a_higher_epoch(path: Path, epoch: int) -> None:
    async with SqliteLog(path) as one, SqliteLog(path) as two:
        await one.create("r")
        async with one.open("r", 2) as writer:
            await writer.flush()  # from now on the file has the run
            with pytest.raises(StaleWriter):
                async with two.open("r", epoch):
                    pass
            await writer.append(TextDelta("m", "undisturbed"))


async def write_on(writer: Writer, text: str) -> None:
    """Until it is told to stop."""
    async for _ in Paced(itertools.count()):
        await writer.append(TextDelta("m", text))


async def test_a_writer_is_refused_once_another_process_has_taken_over(path: Path) -> None:
    async with asyncio.timeout(30), SqliteLog(path) as one, SqliteLog(path) as two:
        await one.create("r")
        async with one.open("r", 1) as old:
            await old.append(TextDelta("m", "one"))
            await one.read("r")
            following = asyncio.create_task(events_of(one, "r"))
            async with two.open("r", 2) as new:
                await new.append(TextDelta("m", "two"))
            with pytest.raises(StaleWriter):
                await write_on(old, "not mine any more")
        seen, kept = await following, [entry.event for entry in await two.read("r")]

    assert kept == [TextDelta("m", "one"), TextDelta("m", "two")]
    assert seen == [TextDelta("m", "one")]


async def test_a_writer_that_was_shut_out_writes_nothing_of_a_batch_and_its_neighbours_all(path: Path) -> None:
    async with asyncio.timeout(30), SqliteLog(path) as one, SqliteLog(path) as two:
        await one.create("mine")
        await one.create("lost")
        async with one.open("mine", 1) as mine, one.open("lost", 1) as lost:
            await lost.flush()  # from now on the file has the run
            async with two.open("lost", 2):
                pass
            for event in deltas(20):
                await mine.append(event)
                await lost.append(event)
            await one.read("mine")
            with pytest.raises(StaleWriter):
                await lost.append(TextDelta("m", "still not"))

        assert await events_of(one, "mine") == deltas(20)
        assert await events_of(two, "lost") == []


# What goes wrong


async def test_a_run_that_cannot_be_stored_ends_with_an_error(path: Path) -> None:
    async with asyncio.timeout(60), SqliteLog(path) as log:
        await log.create("r")
        async with log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "kept"))
            await log.read("r")
            following = asyncio.create_task(events_of(log, "r"))
            await log._commits.execute(lambda database: database.execute("PRAGMA max_page_count = 1"))
            with pytest.raises(StorageFull, match="full"):
                await write_on(writer, "x" * 100_000)
            await writer.append(TextEnded("m", complete=False))
            await writer.append(RunFailed("storage_full", "The disk is full."))
        seen = await following
        kept = [entry.event for entry in await log.read("r")]

    assert seen == [*kept, TextEnded("m", complete=False), RunFailed("storage_full", "The disk is full.")]
    assert kept[0] == TextDelta("m", "kept")


async def test_an_event_that_cannot_be_written_fails_its_own_run_alone(path: Path) -> None:
    async with asyncio.timeout(30), SqliteLog(path) as log:
        await log.create("a")
        await log.create("b")
        async with log.open("a", 1) as a, log.open("b", 1) as b:
            await a.append(TextDelta("m", "before"))
            with pytest.raises(TypeError):
                await a.append(StateReplaced(object()))  # type: ignore[arg-type]  # an agent may say anything
            await a.append(TextDelta("m", "after"))
            await b.append(TextDelta("m", "undisturbed"))

        assert await events_of(log, "a") == [TextDelta("m", "before"), TextDelta("m", "after")]
        assert await events_of(log, "b") == [TextDelta("m", "undisturbed")]


def test_a_file_that_is_no_database_is_refused_with_one_clear_line(path: Path) -> None:
    path.write_text("This is a shopping list, and quite a long one at that." * 100)

    with pytest.raises(ConfigError, match=r"log\.db cannot be opened: file is not a database"):
        LogDatabase.open(path)


async def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    async with SqliteLog(path):
        pass
    rows(path, "PRAGMA user_version = 99")

    with pytest.raises(ConfigError, match="upgrade it"):
        await SqliteLog(path).__aenter__()


# What it takes


async def test_a_transient_run_never_touches_the_file(path: Path) -> None:
    async with SqliteLog(path) as log:
        await log.create("r", transient=True)
        async with log.open("r", 1) as writer:
            await writer.append(TextDelta("m", "Psst"))

        assert await events_of(log, "r") == [TextDelta("m", "Psst")]
        assert rows(path, "SELECT * FROM log_runs") == []
        assert rows(path, "SELECT * FROM log_records") == []


async def test_a_run_is_created_in_the_transaction_of_its_first_entries(path: Path) -> None:
    async with SqliteLog(path) as log:
        await log.create("r")
        before = rows(path, "SELECT id FROM log_runs")
        assert await log.read("r") == ()
        async with log.open("r", 1) as writer:
            await writer.append(RunStarted("r", "t", "a"))
            await writer.flush()
            entries = await log.read("r")
        after = rows(path, "SELECT id FROM log_runs")

    assert (before, after) == ([], [("r",)])
    assert [entry.event for entry in entries] == [RunStarted("r", "t", "a")]


async def test_a_run_that_never_started_leaves_nothing(path: Path) -> None:
    async with SqliteLog(path) as log:
        await log.create("r")
        following = log.follow("r")
        await log.delete(["r"])

        assert [batch async for batch in following] == []
        with pytest.raises(RunNotFound):
            log.follow("r")
        await log.create("r")


async def test_a_run_that_another_process_has_created_meanwhile_is_left_to_it(path: Path) -> None:
    async with SqliteLog(path) as one, SqliteLog(path) as two:
        await one.create("r")
        await two.create("r")
        async with one.open("r", 1) as writer:
            await writer.append(RunStarted("r", "t", "a"))
            await writer.flush()
            async with two.open("r", 1) as late:
                with pytest.raises(StaleWriter):
                    await late.flush()
        entries = await one.read("r")

    assert [entry.event for entry in entries] == [RunStarted("r", "t", "a")]


async def test_events_of_one_moment_are_written_in_few_records(path: Path) -> None:
    async with SqliteLog(path) as log:
        await log.create("r")
        async with log.open("r", 1) as writer:
            for event in deltas(1000):
                await writer.append(event)

        [(count,)] = rows(path, "SELECT count(*) FROM log_records")

    assert count in range(1, 20)


async def test_what_everyone_has_read_is_not_kept_in_memory(path: Path) -> None:
    async with asyncio.timeout(60), SqliteLog(path) as log:
        await log.create("r")
        run = log._active_runs["r"]
        async with log.open("r", 1) as writer:
            async with aclosing(log.follow("r")) as batches:
                for event in deltas(100):
                    await writer.append(event)
                    await anext(batches)
                assert run.entries == []
            for event in deltas(MAX_UNCOMMITTED_ENTRIES * 3):  # and with nobody following, little
                await writer.append(event)
            await log.read("r")
            assert len(run.entries) <= MAX_UNCOMMITTED_ENTRIES * 2
            late = asyncio.create_task(events_of(log, "r"))
            await writer.append(RunFinished("done"))

        assert await late == [*deltas(100), *deltas(MAX_UNCOMMITTED_ENTRIES * 3), RunFinished("done")]


async def test_an_ended_run_becomes_one_row_after_a_while(path: Path) -> None:
    async with SqliteLog(path, compact_after_seconds=-1) as log:
        await write(log, "r", [RunStarted("r", "t", "a"), TextStarted("m"), *deltas(1000), TextEnded("m")])
        await log.create("live")
        async with log.open("live", 1) as writer:
            await writer.append(TextDelta("m", "still here"))
            await log.read("live")
            assert await log.compact() == 1
            events = await events_of(log, "r")
            assert [run for (run,) in rows(path, "SELECT DISTINCT run_key FROM log_records")] == [2]

    whole = "".join(str(number) for number in range(1000))
    assert events == [RunStarted("r", "t", "a"), TextStarted("m"), TextDelta("m", whole), TextEnded("m")]


async def test_a_run_is_compacted_by_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "COMPACTION_INTERVAL_S", 0.01)
    async with asyncio.timeout(30), SqliteLog(path, compact_after_seconds=0.02) as log:
        await write(log, "r", deltas(10))
        while len(await log.read("r")) > 1:
            pass  # reading takes its time


async def test_a_run_that_was_compacted_can_be_taken_up_again(path: Path) -> None:
    async with SqliteLog(path, compact_after_seconds=-1) as log:
        await write(log, "r", deltas(10))
        assert await log.compact() == 1
        async with log.open("r", 2) as writer:
            await writer.append(TextDelta("m", "more"))
            await writer.append(TextDelta("m", "!"))
        assert await log.compact() == 1

        assert [(entry.id, entry.event) for entry in await log.read("r")] == [
            ("1-10", TextDelta("m", "0123456789")),
            ("2-12", TextDelta("m", "more!")),
        ]
        assert await events_of(log, "r", after="1-7") == [TextDelta("m", "789"), TextDelta("m", "more!")]
        assert await events_of(log, "r", after="2-11") == [TextDelta("m", "!")]


async def test_a_follower_that_is_behind_reads_a_run_that_was_compacted_meanwhile_to_its_end(path: Path) -> None:
    large = "x" * (LARGE_ENTRY_BYTES + 1)  # not kept in memory without a reader
    async with SqliteLog(path, compact_after_seconds=0.0) as log:
        await log.create("r")
        async with log.open("r", 1) as writer:
            for event in (TextStarted("m"), *deltas(3), TextDelta("m", large)):
                await writer.append(event)
            await writer.flush()
            for event in (*deltas(2), TextEnded("m"), RunFinished("done")):
                await writer.append(event)
            following = log.follow("r")
        assert await log.compact() == 1
        seen = [entry.event async for batch in following for entry in batch]

    assert seen == [TextStarted("m"), TextDelta("m", f"012{large}01"), TextEnded("m"), RunFinished("done")]


async def test_an_event_of_a_later_version_is_skipped_and_left_as_it_is(path: Path) -> None:
    async with SqliteLog(path, compact_after_seconds=-1) as log:
        await write(log, "new", deltas(3))
        rows_changed = sqlite3.connect(path, isolation_level=None)
        rows_changed.execute('UPDATE log_records SET events = \'[{"type":"Teleported","to":"x"}]\'')
        rows_changed.close()

        assert await log.compact() == 1
        assert await events_of(log, "new") == [Custom("log.unknown", "Teleported")]
    assert rows(path, "SELECT count(*) FROM log_records WHERE events LIKE '%Teleported%'") == [(1,)]


async def test_what_this_version_cannot_read_is_left_as_it_is(path: Path) -> None:
    async with SqliteLog(path, compact_after_seconds=-1) as log:
        await write(log, "new", deltas(3))
        await write(log, "old", deltas(3))
        rows_changed = sqlite3.connect(path, isolation_level=None)
        rows_changed.execute('UPDATE log_records SET events = \'[{"type":"TextDelta"}]\' WHERE run_key = 1')
        rows_changed.close()

        assert await log.compact() == 2
        assert await log.compact() == 0
        assert len(await log.read("old")) == 1
        with pytest.raises(UnreadableEvent):
            await log.read("new")
        await write(log, "next", deltas(1))
        assert await log.compact() == 1
    assert rows(path, 'SELECT DISTINCT run_key FROM log_records WHERE events = \'[{"type":"TextDelta"}]\'') == [(1,)]


async def test_compacted_rows_are_deleted_and_their_numbers_are_never_used_again(path: Path) -> None:
    async with SqliteLog(path, compact_after_seconds=-1) as log:
        numbers: list[object] = []
        for turn in range(5):
            await write(log, f"r{turn}", deltas(3))
            numbers += rows(path, "SELECT max(number) FROM log_records")
            assert await log.compact() == 1
            assert await events_of(log, f"r{turn}") == [TextDelta("m", "012")]
        await log.delete([f"r{turn}" for turn in range(4)])
        await write(log, "r5", deltas(3))

        assert await events_of(log, "r5") == deltas(3)
        assert await events_of(log, "r4") == [TextDelta("m", "012")]

    assert numbers == sorted(set(numbers), key=str)
    assert rows(path, "SELECT count(*) FROM log_records")[0][0] in (1, 2)


async def test_the_folder_is_made_and_the_part_is_built_from_its_options(tmp_path: Path) -> None:
    log = build(Options(path=tmp_path / "state" / "log.db"))
    assert isinstance(log, SqliteLog)
    async with log:
        await write(log, "r", deltas(3))

    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


# Joined entries say the same to a reader at any id


pieces = st.text(st.characters(codec="utf-8"), max_size=4)
events = st.one_of(
    st.builds(TextDelta, st.sampled_from("ab"), pieces),
    st.builds(TextDelta, st.sampled_from("ab"), pieces),
    st.builds(ReasoningDelta, st.sampled_from("ab"), pieces),
    st.builds(ToolCallDelta, st.sampled_from("ab"), pieces),
    st.builds(ToolCallEnded, st.sampled_from("ab")),
    st.builds(StateReplaced, st.integers()),
)


def entries_of(said: Sequence[tuple[Event, bool]]) -> list[Entry]:
    """The events as a run's entries; where it says True, another writer has taken over."""
    epoch, found = 1, list[Entry]()
    for number, (event, is_taken_over) in enumerate(said, start=1):
        epoch += is_taken_over
        found.append(Entry(epoch, number, event))
    return found


def whole(found: Sequence[Entry]) -> list[tuple[object, ...]]:
    """What a client makes of it: neighbours of one message joined, wherever the cuts between them are."""
    heard: list[tuple[object, ...]] = []
    for entry in found:
        match entry.event:
            case TextDelta(message_id=id, text=text) | ReasoningDelta(message_id=id, text=text):
                kind: tuple[object, ...] = (type(entry.event), id)
            case ToolCallDelta(call_id=id, text=text):
                kind = (ToolCallDelta, id)
            case other:
                heard.append((other,))
                continue
        if heard and heard[-1][:2] == kind:
            heard[-1] = (*kind, f"{heard[-1][2]}{text}")
        else:
            heard.append((*kind, text))
    return heard


@given(st.lists(st.tuples(events, st.integers(0, 9).map(lambda one: one == 0)), max_size=40), st.data())
def test_readers_at_any_id_get_no_gap_and_nothing_twice(said: list[tuple[Event, bool]], data: st.DataObject) -> None:
    entries = entries_of(said)
    text = compaction.encode(entries).decode()
    seen = data.draw(st.integers(0, len(entries)))

    rest = compaction.decode(text, seen)
    stop = data.draw(st.integers(0, len(rest)))
    more = compaction.decode(text, rest[stop - 1].seq if stop else seen)

    assert whole([*entries[:seen], *rest]) == whole(entries)
    assert whole([*entries[:seen], *rest[:stop], *more]) == whole(entries)
    assert [entry.seq for entry in rest] == sorted({entry.seq for entry in rest})
    assert {entry.id for entry in rest} <= {entry.id for entry in entries}
    assert not entries or not rest or rest[-1].id == entries[-1].id


@settings(max_examples=examples(0.2))
@given(st.lists(st.tuples(events, st.booleans()), max_size=20), st.lists(st.tuples(events, st.booleans()), max_size=20))
def test_a_run_that_went_on_after_it_was_joined_reads_like_one(
    said: list[tuple[Event, bool]], later: list[tuple[Event, bool]]
) -> None:
    entries = entries_of([*said, *later])
    joined = compaction.encode(entries[: len(said)]).decode()
    again = compaction.encode(entries[len(said) :], joined).decode()

    for seen in range(len(entries) + 1):
        assert whole([*entries[:seen], *compaction.decode(again, seen)]) == whole(entries)


async def test_the_log_uses_little_disk_space(path: Path) -> None:
    id = "msg_0123456789abcdef0123456789abcdef"
    async with SqliteLog(path, compact_after_seconds=-1) as log:
        for number in range(20):
            await write(log, f"r{number}", [TextDelta(id, f"word{piece} ") for piece in range(500)])
        await log.compact()
        texts = rows(path, "SELECT length(compacted) FROM log_runs")

    said = sum(len(f"word{piece} ") for piece in range(500))
    assert all(isinstance(length, int) and length < 1.5 * said for (length,) in texts)


def test_a_connection_reads_what_another_connection_has_committed(path: Path) -> None:
    one, two = LogDatabase.open(path), LogDatabase.open(path)
    with one.transaction():
        one.create("r", 1)
        assert not two.has("r")

    assert two.has("r")
    one.close()
    two.close()


async def test_large_entries_wait_for_a_reader_that_is_stuck(path: Path) -> None:
    large = [TextDelta("m", "a" * 10_000 + str(number)) for number in range(20)]
    async with asyncio.timeout(60), SqliteLog(path) as log:
        await log.create("r")
        run = log._active_runs["r"]
        async with log.open("r", 1) as writer, aclosing(log.follow("r")) as batches:

            async def write() -> None:
                for event in large:
                    await writer.append(event)

            writing = asyncio.create_task(write())
            seen = [entry.event for entry in await anext(batches)]
            await log.read("r")
            assert run.seq <= len(seen) + 1

            while len(seen) < len(large):
                seen += [entry.event for entry in await anext(batches)]
            await writing

    assert seen == large


async def test_large_entries_without_readers_are_not_kept_in_memory(path: Path) -> None:
    async with asyncio.timeout(60), SqliteLog(path) as log:
        await log.create("r")
        run = log._active_runs["r"]
        async with log.open("r", 1) as writer:
            for number in range(20):
                await writer.append(TextDelta("m", "a" * 10_000 + str(number)))
                assert len(run.entries) <= 1


# It is written in batches


async def test_entries_of_one_transaction_reach_a_follower_together_and_a_single_one_its_tap(path: Path) -> None:
    tapped: list[Event] = []

    def tap(entry: Entry) -> bool:
        tapped.append(entry.event)
        return True

    one, first, second = deltas(3)
    async with asyncio.timeout(30), SqliteLog(path) as log:
        await log.create("r")
        async with log.open("r", 1) as writer, aclosing(log.follow("r", tap=tap)) as batches:
            waiting = asyncio.ensure_future(anext(batches))
            await settle()  # the follower waits for its first entry
            await writer.append(one)
            await writer.flush()
            assert tapped == [one]
            await writer.append(first)
            await writer.append(second)
            batch = await waiting

    assert [entry.event for entry in batch] == [first, second]
    assert tapped == [one]


def test_two_workers_with_half_of_the_runs_each_commit_as_often_as_one_process() -> None:
    assert commit_interval(4, is_shared=True) == 2 * commit_interval(8, is_shared=False)
    assert commit_interval(1, is_shared=True) == commit_interval(1, is_shared=False) == MIN_COMMIT_INTERVAL_S
