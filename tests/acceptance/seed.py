"""seed.py CONFIGURATION LINES: puts threads and runs into store and log, if they are not there yet.

Each line is JSON: a thread with its messages, a run, or an entry of the last run. Entries have the event names of an
early log; `RENAMED` has those of today.
"""

import asyncio
import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml
from sqlalchemy import Connection, insert

from rightseat import config
from rightseat.core.errors import RunExists
from rightseat.core.events import Event
from rightseat.core.messages import Message, Text
from rightseat.core.stream import codec
from rightseat.stores import rows
from rightseat.stores.databases import connect
from rightseat.stores.sql import Options, SqlThreads
from rightseat.stores.tables import message_texts, messages, runs, threads

RENAMED = {
    "CallStarted": "ToolCallStarted",
    "CallDelta": "ToolCallDelta",
    "CallEnded": "ToolCallEnded",
    "CallReturned": "ToolCallReturned",
    "AnswerEnded": "ModelResponseEnded",
}
RENAMED_FIELDS = {"said": "new_messages"}
RENAMED_REASONS = {"calls": "tool_calls"}


async def seed(found: config.Config, lines: Sequence[bytes]) -> None:
    options = found.threads.options
    assert isinstance(options, Options)
    database = connect(options.url.get_secret_value() if options.url else options.path, is_owner=False)
    async with SqlThreads(database) as store:
        if await store.records.thread(msgspec.json.decode(lines[0])["thread"]["id"]):
            return
        read = [msgspec.json.decode(line) for line in lines]
        await add_entries(found, read)
        await database.write(insert_rows, read)


def read_places(configuration: Path) -> config.Config:
    """Only where its store and its log are: the other parts take seconds to import."""
    read = yaml.safe_load(configuration.read_text())
    places = {name: read[name] for name in ("server", "threads", "log") if name in read}
    return config.parse(json.dumps(places | {"faces": []}), configuration)


def insert_rows(connection: Connection, read: Sequence[dict[str, Any]]) -> None:
    found = [line for line in read if "thread" in line]
    connection.execute(insert(threads), [thread_row(line["thread"]) for line in found])
    said = [
        (line["thread"]["id"], position, Message(one["role"], (Text(one["text"]),), one["id"]))
        for line in found
        for position, one in enumerate(line["messages"])
    ]
    connection.execute(insert(messages), [message_row(*one) for one in said])
    connection.execute(insert(message_texts), [text_row(*one) for one in said])
    connection.execute(insert(runs), [run_row(line["run"], totals_of(read)) for line in read if "run" in line])


def thread_row(thread: dict[str, Any]) -> dict[str, Any]:
    times = {name: stored_time(thread[name]) for name in ("created_at", "updated_at")}
    return {name: thread[name] for name in ("id", "agent", "name", "archived")} | times | {"owner": thread["user"]}


def message_row(thread: str, position: int, message: Message) -> dict[str, Any]:
    text = msgspec.json.encode(message).decode()
    return {"thread_id": thread, "position": position, "id": message.id, "message": text}


def text_row(thread: str, position: int, message: Message) -> dict[str, Any]:
    return {"thread_id": thread, "position": position, "text": rows.searchable_text(message)}


def run_row(run: dict[str, Any], totals: dict[str, int]) -> dict[str, Any]:
    return {
        "id": run["id"],
        "thread_id": run["thread"],
        "owner": run["user"],
        "agent": run["agent"],
        "outcome": run["outcome"],
        "epoch": 1,
        "process_id": 0,
        "created_at": stored_time(run["created_at"]),
        "finished_at": stored_time(run["finished_at"]),
        **totals,
    }


def totals_of(read: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Of all entries: the lines have one run."""
    events = [line["entry"]["event"] for line in read if "entry" in line]
    responses = [event["usage"] for event in events if event["type"] == "AnswerEnded"]
    tokens = {name: sum(usage[name] for usage in responses) for name in ("input_tokens", "output_tokens")}
    returned = sum(event["type"] == "CallReturned" for event in events)
    return tokens | {"model_calls": len(responses), "tool_calls": returned}


def stored_time(text: str) -> str:
    return text.replace("Z", "000Z")


async def add_entries(found: config.Config, read: Sequence[dict[str, Any]]) -> None:
    async with found.log.module.build(found.log.options) as log:
        for run_id, events in group_events(read):
            try:
                await log.create(run_id)
            except RunExists:
                continue
            async with log.open(run_id, epoch=1) as writer:
                for event in events:
                    await writer.append(event)


def group_events(read: Iterable[dict[str, Any]]) -> Iterator[tuple[str, list[Event]]]:
    run_id = ""
    after_threads = (line for line in read if "thread" not in line)
    for is_entry, lines in itertools.groupby(after_threads, lambda line: "entry" in line):
        if is_entry:
            yield run_id, [read_event(line["entry"]["event"]) for line in lines]
        else:
            run_id = list(lines)[-1]["run"]["id"]


def read_event(event: dict[str, Any]) -> Event:
    today = {RENAMED_FIELDS.get(name, name): value for name, value in event.items()}
    today["type"] = RENAMED.get(event["type"], event["type"])
    if "reason" in today:
        today["reason"] = RENAMED_REASONS.get(today["reason"], today["reason"])
    return codec.decode(msgspec.json.encode(today))


if __name__ == "__main__":
    asyncio.run(seed(read_places(Path(sys.argv[1])), Path(sys.argv[2]).read_bytes().splitlines()))
