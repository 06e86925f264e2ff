"""Ours → AG-UI → ours, for every event; and AG-UI's official models read all that we write."""

from random import Random
from typing import Any, get_args

import msgspec
import pytest
from ag_ui.core import Event as Official
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rightseat.core.events import (
    Event,
    MessagesReplaced,
    ModelResponseEnded,
    ReasoningEnded,
    RunStarted,
    SpanEnded,
    SpanStarted,
    TextEnded,
    ToolCallEnded,
    ToolCallReturned,
    ToolCallStarted,
)
from rightseat.core.stream.compaction import compact
from rightseat.wire.agui import AguiDecoder, AguiEncoder, Version
from tests.profiles import examples
from tests.wire.agui.ordering import check
from tests.wire.agui.runs import Json, folded, our_run

official: TypeAdapter[Any] = TypeAdapter(Official)
runs = st.randoms(use_true_random=False).map(our_run)
many = settings(max_examples=examples(2 / 3))


def written(run: list[Event], version: Version = "1.0") -> list[Json]:
    writer = AguiEncoder(version, "t", "client-run")
    return [event for ours in run for event in writer.write(ours)]


def read(events: list[Json]) -> list[Event]:
    reader = AguiDecoder()
    return [ours for event in events for ours in reader.read(event)]


@given(runs)
@many
def test_a_run_comes_back_as_it_was(run: list[Event]) -> None:
    back = read(written(run))

    assert [plain(event) for event in back] == [plain(event) for event in run if is_carried(event)]
    assert bare(folded(back, state={}).messages()) == bare(folded(run, state={}).messages())


def test_the_runs_have_every_event() -> None:
    events = [event for seed in range(200) for event in our_run(Random(seed))]

    # A remote agent's snapshot of messages is not about a run that died here, and spans are not sent.
    ours_alone = {MessagesReplaced, SpanStarted, SpanEnded}
    assert {type(event) for event in events} == set(get_args(Event)) - ours_alone


@given(runs)
@many
def test_the_official_models_read_what_we_write(run: list[Event]) -> None:
    for event in (*written(run), *written(compact(run))):
        parsed = official.validate_python(event)

        assert parsed.model_dump(mode="json", by_alias=True) == event


@given(runs)
@many
@pytest.mark.parametrize("version", get_args(Version))
def test_what_we_write_is_in_order(version: Version, run: list[Event]) -> None:
    check(written(run, version), version)
    check(written(compact(run), version), version)


@given(runs)
@many
def test_an_older_client_gets_the_same_events_except_the_outcome(run: list[Event]) -> None:
    older, newer = written(run, "0.0.59"), written(run)

    assert older[:-1] == newer[:-1]
    assert older[-1].get("outcome", {}).get("type") in (None, "interrupt")


def is_carried(event: Event) -> bool:
    """What AG-UI has no word for, and what the reader's own run says."""
    return not isinstance(event, ModelResponseEnded | RunStarted)


def plain(event: Event) -> Event:
    """Without what AG-UI does not carry: that something broke off, and the code of an error."""
    match event:
        case TextEnded() | ReasoningEnded() | ToolCallEnded():
            return msgspec.structs.replace(event, complete=True)
        case ToolCallReturned():
            return msgspec.structs.replace(event, error=None)
        case ToolCallStarted():
            return msgspec.structs.replace(event, message_id=None)  # it always says; see what it folds to
    return event


def bare(messages: tuple[Any, ...]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(messages).replace(b'"oops"', b"null"))
