"""A state comes back from a browser: it is known again, and nothing else is taken for one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.errors import ConfigError
from rightseat.core.messages import Call, Message, Result
from rightseat.faces.openbb.carrying import LARGEST, bounded
from rightseat.faces.openbb.state import FIELD, FalseState, Made, Request, Seal, State

STATE = State(
    "default",
    (Made("c1", "read_prices", '{"symbol":"AAPL"}'),),
    (("c1",),),
    (Request("get_widget_data", {"data_sources": [{"limit": 1.0}]}, (("c2",),)),),
    (Message("assistant", (Call("c0", "run_sql", "{}"),), id="m1"), Message("tool", (Result("c0", "run_sql", "1"),))),
    3,
    2,
    "Europe/Lisbon",
)


@pytest.fixture
def seal(tmp_path: Path) -> Seal:
    return Seal(tmp_path / "state" / "openbb.key")


def test_a_state_comes_back_as_it_was(seal: Seal) -> None:
    sent = json.loads(json.dumps(seal.close(STATE)))

    assert seal.open(sent, "default") == STATE


def test_a_client_that_lost_it_has_none(seal: Seal) -> None:
    assert seal.open({}, "default") is None


def altered(text: str, place: int) -> str:
    return text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]


@pytest.mark.parametrize(
    "change",
    [
        lambda state: {FIELD: altered(state[FIELD], 3)},
        lambda state: {FIELD: altered(state[FIELD], len(state[FIELD]) // 2)},
        lambda state: {FIELD: state[FIELD][:-8]},
        lambda state: {FIELD: ""},
        lambda state: {FIELD: 7},
        lambda state: {FIELD: None},
        lambda state: {"pending": [], "hops": -100},
        lambda state: {FIELD: "äöü"},
    ],
)
def test_what_was_altered_or_made_up_is_refused(seal: Seal, change: Any) -> None:
    with pytest.raises(FalseState, match="Ask your question once more"):
        seal.open(change(seal.close(STATE)), "default")


def test_a_state_of_another_agent_is_refused(seal: Seal) -> None:
    with pytest.raises(FalseState):
        seal.open(seal.close(STATE), "guarded")


def test_servers_that_share_a_folder_know_each_others_states(tmp_path: Path) -> None:
    first, second = Seal(tmp_path / "a" / "openbb.key"), Seal(tmp_path / "a" / "openbb.key")

    assert second.open(first.close(STATE), "default") == STATE
    with pytest.raises(FalseState):
        Seal(tmp_path / "b" / "openbb.key").open(first.close(STATE), "default")


def test_servers_that_share_a_secret_need_no_folder(tmp_path: Path) -> None:
    first, second = (Seal(tmp_path / name, "a secret of sixteen") for name in "ab")

    assert second.open(first.close(STATE), "default") == STATE
    assert not list(tmp_path.iterdir())


def test_the_key_is_for_its_user_alone(seal: Seal, tmp_path: Path) -> None:
    seal.close(STATE)

    assert [path.name for path in (tmp_path / "state").iterdir() if path.suffix == ".key"] == ["openbb.key"]
    assert (tmp_path / "state" / "openbb.key").stat().st_mode & 0o777 == 0o600


def test_a_broken_key_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "openbb.key").write_bytes(b"short")

    with pytest.raises(ConfigError, match=r"Delete .*openbb\.key"):
        Seal(tmp_path / "openbb.key").close(STATE)


def test_what_tools_said_is_carried_as_far_as_there_is_room() -> None:
    def said(id: str, size: int) -> Message:
        return Message("tool", (Result(id, "run_sql", os.urandom(size // 2).hex()),))

    messages = [said("old", 20_000), said("new", 20_000)]

    old, new = (message.parts[0] for message in bounded(messages))

    assert isinstance(old, Result)
    assert "too long to be kept" in old.content
    assert new == messages[1].parts[0]
    assert LARGEST < 40_000
