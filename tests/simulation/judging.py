"""What must hold when all is over.

Nothing is lost, doubled or out of order for anyone who follows; one writer at a time has an effect; every run ends; no
finished step is done again; and what a process does that slept through its lease changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rightseat.core.ask import ANYONE
from rightseat.core.events import MessagesReplaced, RunFailed, RunFinished, RunStarted
from rightseat.core.log import Entry, Position
from rightseat.core.messages import Message
from rightseat.core.stream.reducer import Reducer
from rightseat.core.threads import RunRow, Thread
from rightseat.logs.redis.replies import read_records
from rightseat.logs.shared.records import Cursor, Record
from rightseat.stores import thread_queries
from tests.simulation.clients import Client
from tests.simulation.outside import WORDS
from tests.simulation.streams import Redis

if TYPE_CHECKING:
    from tests.simulation.world import World

Problem = str

MESSAGE = re.compile(rb'"message_id":"([^"]+)"')


def judge(world: World, is_over: bool) -> list[Problem]:
    if not is_over:
        return [f"a run never ends: {stuck(client)}" for client in world.clients if not client.is_done] or ["no end"]
    if world.loses_log:
        return [*gaps(world), *world.wrong_takeovers]
    problems = [*problems_of(world), *world.wrong_takeovers]
    run_ids = [run.id for thread in threads_of(world) for run in thread.runs]
    before = look(world, run_ids)
    world.wait_for_sleepers()
    if look(world, run_ids) != before:
        problems.append("something changed after the end")
    problems += [f"unexpected: {one}" for replica in world.all_replicas() for one in replica.failures()]
    return problems


def gaps(world: World) -> Iterator[Problem]:
    """A log that was lost: nobody misses anything without being told, and an id means the same to all."""
    known: dict[tuple[str | None, str], Entry] = {}
    for client in world.clients:
        yield from problems_of_reader(client)
        for number, entry in enumerate(client.entries):
            if number in client.breaks and not isinstance(entry.event, RunStarted | MessagesReplaced):
                yield f"a reader of {client.run_id} goes on with {entry.id} without knowing what was before it"
            if known.setdefault((client.run_id, entry.id), entry) != entry:
                yield f"{entry.id} of {client.run_id} was not the same to all"


def stuck(client: Client) -> str:
    return f"{client.run_id or client.thread_id} after {client.entries[-1].id if client.entries else 'nothing'}"


def look(world: World, run_ids: Sequence[str]) -> object:
    """What is kept of these runs. A request that its client gave up long ago may begin another one meanwhile."""
    rows = [run for thread in threads_of(world) for run in thread.runs if run.id in run_ids]
    said = [message for thread in threads_of(world) for message in thread.messages]
    logs = [records_of(world.servers.redis, run_id) for run_id in run_ids]
    of_these = {id for log in logs for record in log for id in MESSAGE.findall(record.content)}
    return rows, logs, [message for message in said if message.id.encode() in of_these]


def threads_of(world: World) -> list[Thread]:
    names = sorted({client.thread_id for client in world.clients})
    found = [world.servers.database.transact(thread_queries.load, name, ANYONE.id) for name in names]
    return [thread for thread in found if thread is not None]


def problems_of(world: World) -> Iterator[Problem]:
    redis = world.servers.redis
    for thread in threads_of(world):
        for run in thread.runs:
            clients = [client for client in world.clients if client.run_id == run.id]
            yield from problems_of_run(redis, run, thread.messages, clients)
    for client in world.clients:
        yield from problems_of_reader(client)
        if client.told:
            yield f"a reader of {client.run_id} was told that something was lost: {client.told}"
    yield from repeated_steps(world)


def problems_of_run(redis: Redis, run: RunRow, kept: Sequence[Message], clients: Sequence[Client]) -> Iterator[Problem]:
    if run.outcome != "done":
        yield f"run {run.id} ended as {run.outcome}"
    cursor = Cursor(run.id)
    entries = cursor.read(records_of(redis, run.id))
    if cursor.truncated or not cursor.is_ended:
        yield f"the log of run {run.id} cannot be read to its end, though it ended as {run.outcome}"
        return
    yield from problems_of_log(run, entries, kept)
    for client in clients:
        if client.entries != entries:
            yield f"a reader of {run.id} saw something else than the log says"


def records_of(redis: Redis, run_id: str) -> list[Record]:
    stored = redis.streams.get(f"log:{run_id}".encode(), [])
    return read_records([[str(at).encode(), [kind, content]] for at, kind, content in stored])


def problems_of_log(run: RunRow, entries: Sequence[Entry], kept: Sequence[Message]) -> Iterator[Problem]:
    reducer = Reducer()
    for entry in entries:
        reducer.add(entry.event)
    endings = [entry for entry in entries if isinstance(entry.event, RunFinished | RunFailed)]
    if len(endings) != 1 or entries[-1] is not endings[0]:
        yield f"run {run.id} has {len(endings)} ends"
    said = reducer.messages()
    ids = {message.id for message in said}
    if run.outcome == "done" and [message for message in kept if message.id in ids] != list(said):
        yield f"the store has something else of run {run.id} than its log"
    for message in said:
        if run.outcome == "done" and message.role == "assistant" and not is_one_answer(message.text):
            yield f"an answer in run {run.id} is not one that the model gave: {message.text!r}"


def is_one_answer(text: str) -> bool:
    generation = text.partition(".")[0]
    return text == "".join(f"{generation}.{number} " for number in range(WORDS))


def problems_of_reader(client: Client) -> Iterator[Problem]:
    at = Position(0, 0)
    for number, entry in enumerate(client.entries):
        here = Position(entry.epoch, entry.seq)
        if here <= at or not (here.seq == at.seq + 1 or number in client.breaks):
            yield f"a reader of {client.run_id} saw {here} after {at}"
        if here.epoch < at.epoch:
            yield f"a reader of {client.run_id} saw an old writer: {here} after {at}"
        at = here


def repeated_steps(world: World) -> Iterator[Problem]:
    steps = world.servers.database.steps
    for request in world.servers.outside.requests:
        kept = steps.get((request.run_id, request.step))
        if kept and kept[0] < request.moment and request.executor == request.process:
            yield f"{request.step} of {request.run_id} was done again by process {request.process}"
