"""AG-UI's own clients have the last word: what they make of made-up runs, and what we do."""

import json
from collections.abc import Callable
from random import Random
from typing import Any, get_args

import pytest

from rightseat.core.events import Event, RunStarted
from rightseat.core.messages import Message
from rightseat.core.stream.compaction import compact
from rightseat.core.types import JsonValue
from rightseat.wire.agui import AguiDecoder, AguiEncoder, Version, write_message
from rightseat.wire.agui.chunks import BadEvent, Chunks
from tests.wire.agui.judging import Refused, about, ask
from tests.wire.agui.ordering import BadOrder, check
from tests.wire.agui.runs import Json, folded, our_run, their_chunks, their_run

pytestmark = pytest.mark.clients

versions = pytest.mark.parametrize("version", get_args(Version))
# Each case starts Node. What we write, the gate reads with both versions; the events of others, with the newest.
newest_by_day = pytest.mark.parametrize(
    "version",
    [pytest.param(version, marks=pytest.mark.night) for version in get_args(Version)[:-1]] + [get_args(Version)[-1]],
)


@newest_by_day
def test_the_order_that_the_client_refuses_is_the_one_that_we_refuse(version: Version) -> None:
    runs = many(their_run, 600)

    theirs = [not isinstance(answer, Refused) for answer in ask("verify", version, about(runs))]

    assert 100 < sum(theirs) < 500, "both good and bad runs"
    for run, is_good in zip(runs, theirs, strict=True):
        assert in_order(run, version) == is_good, run


@versions
def test_chunks_are_spelt_out_as_the_client_does_it(version: Version) -> None:
    runs = many(their_chunks, 600)

    theirs = ask("expand", version, about(runs))

    assert 100 < sum(isinstance(answer, Refused) for answer in theirs) < 500, "both good and bad runs"
    for run, answer in zip(runs, theirs, strict=True):
        assert spelt_out(run) == (None if isinstance(answer, Refused) else answer), run


@versions
def test_what_we_write_can_be_read_and_is_in_order(version: Version) -> None:
    written = [written_as(version, run) for run in many(our_run, 300)]
    written += [written_as(version, compact(run)) for run in many(our_run, 300)]

    refused = [answer for answers in ask("parse", version, about(written)) for answer in answers]
    disordered = [answer for answer in ask("verify", version, about(written)) if isinstance(answer, Refused)]

    assert refused == []
    assert disordered == []


@versions
@pytest.mark.parametrize("how", [list, compact])
def test_an_application_sees_what_we_keep(version: Version, how: Callable[[list[Event]], list[Event]]) -> None:
    runs = many(our_run, 300)

    seen = ask("apply", version, about(written_as(version, how(run)) for run in runs))

    for run, answer in zip(runs, seen, strict=True):
        kept = folded(run, state={})
        assert spoken(answer["messages"]) == spoken(kept_messages(run, kept.messages())), run
        assert answer["state"] == kept.state


@newest_by_day
def test_our_compaction_gives_the_same_messages_as_the_clients_own(version: Version) -> None:
    """Where messages or calls were said at the same time, theirs come in another order."""
    runs = many(our_run, 300)
    theirs = ask("compact", version, about(written_as(version, run) for run in runs))

    seen = ask("apply", version, about(theirs))
    ours = ask("apply", version, about(written_as(version, compact(run)) for run in runs))

    for one, other in zip(seen, ours, strict=True):
        assert by_id(spoken(one["messages"])) == by_id(spoken(other["messages"]))
        assert one["state"] == other["state"]


@newest_by_day
def test_events_of_another_agent_reach_the_application_unchanged(version: Version) -> None:
    """Written, read as if it came from another agent, and written again."""
    runs = many(our_run, 300)
    first = [written_as(version, run) for run in runs]
    second = [passed_on(version, run, events) for run, events in zip(runs, first, strict=True)]

    directly, through_us = (ask("apply", version, about(events)) for events in (first, second))

    assert directly == through_us


@newest_by_day
def test_a_valid_run_of_another_agent_is_unchanged(version: Version) -> None:
    runs = [run for run in many(their_run, 600) if in_order(run, "1.0") and types(run).count("RUN_STARTED") == 1]

    passed = [passed_on(version, [RunStarted("r", "t", "default")], run) for run in runs]

    assert len(runs) > 50
    for run, answer in zip(runs, ask("verify", version, about(passed)), strict=True):
        assert not isinstance(answer, Refused), (run, answer)


@newest_by_day
def test_fields_that_rightseat_does_not_have_reach_the_application_too(version: Version) -> None:
    """Names, roles, metadata, subagents; a call without a parent is given one."""
    runs = [enriched(run, Random(seed)) for seed, run in enumerate(many(their_run, 1200))]
    runs = [run for run in runs if in_order(run, "1.0") and types(run).count("RUN_STARTED") == 1]

    passed = [passed_on(version, [RunStarted("r", "t", "default")], run) for run in runs]
    directly, through_us = (ask("apply", version, about(events)) for events in (runs, passed))

    assert len(runs) > 100
    for run, one, other in zip(runs, directly, through_us, strict=True):
        assert not isinstance(one, Refused)
        assert said(one["messages"]) == said(other["messages"]), run
        assert one["state"] == other["state"]
    for run, answer in zip(runs, ask("verify", version, about(passed)), strict=True):
        assert not isinstance(answer, Refused), (run, answer)


def enriched(run: list[Json], random: Random) -> list[Json]:
    """With metadata on this and that, with names and roles; without empty ids, and without those of other messages."""
    run = json.loads(json.dumps(run).replace('d": ""', 'd": "c"'))
    for event in run:
        event.pop("input", None)  # ours says what was said before
        if random.random() < 0.3 and not event["type"].startswith(("RUN_", "STATE_")):
            event["metadata"] = {random.choice("xyz"): random.randrange(9)}
        if event["type"] == "TEXT_MESSAGE_START":
            event |= random.choice(({}, {"role": "assistant"}, {"role": "user"}, {"name": "Bo"}))
        elif event["type"] == "TOOL_CALL_START":
            event.setdefault("parentMessageId", event["toolCallId"])
        elif event["type"] == "REASONING_MESSAGE_START":
            event["role"] = "reasoning"
        elif event["type"].startswith("ACTIVITY_"):
            event["messageId"] += "-shown"
        for message in event.get("messages", ()):
            message["id"] += "-shown" if message["role"] == "activity" else ""
    return run


def many(make: Callable[[Random], Any], count: int) -> list[Any]:
    return [make(Random(seed)) for seed in range(count)]


def in_order(run: list[Json], version: Version) -> bool:
    try:
        check(run, version)
    except BadOrder:
        return False
    return True


def spelt_out(run: list[Json]) -> list[Json] | None:
    chunks = Chunks()
    try:
        return [plain for event in run for plain in chunks.expand(event)]
    except BadEvent:
        return None


def written_as(version: Version, run: list[Event]) -> list[Json]:
    writer = AguiEncoder(version, "t", "client-run")
    return [written for event in run for written in writer.write(event)]


def passed_on(version: Version, run: list[Event], events: list[Json]) -> list[Json]:
    reader = AguiDecoder()
    return written_as(version, run[:1] + [ours for event in events for ours in reader.read(event)])


def kept_messages(run: list[Event], messages: tuple[Message, ...]) -> list[Json]:
    started = run[0]
    assert isinstance(started, RunStarted)
    written = [write_message(message) for message in (*started.new_messages, *messages)]
    return [{key: value for key, value in message.items() if key != "error"} for message in written]


def said(messages: list[Json]) -> list[Json]:
    """Without an assistant's empty text, which may as well be left out."""
    return [{key: value for key, value in message.items() if value != ""} for message in messages]


def spoken(messages: list[Json]) -> list[Json]:
    """Without thoughts: we do not keep them, and the client's compaction loses some of what is thought side by side."""
    return said([message for message in messages if message["role"] != "reasoning"])


def by_id(messages: list[Json]) -> dict[str, JsonValue]:
    return {
        message["id"]: message | {"toolCalls": sorted(message.get("toolCalls", ()), key=str)} for message in messages
    }


def types(run: list[Json]) -> list[str]:
    return [event["type"] for event in run]
