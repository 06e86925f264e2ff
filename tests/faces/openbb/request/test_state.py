"""A state comes back from a browser: it is known again, and nothing else is taken for one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rightseat.core.errors import ConfigError
from rightseat.core.messages import Call, Message, Result
from rightseat.faces.openbb.request.state import (
    MAX_CARRIED_CHARS,
    STATE_FIELD,
    CarriedCall,
    ClientRequest,
    InvalidSignature,
    State,
    StateSigner,
    limit_messages,
)

STATE = State(
    "default",
    (CarriedCall("c1", "read_prices", '{"symbol":"AAPL"}'),),
    (("c1",),),
    (ClientRequest("get_widget_data", {"data_sources": [{"limit": 1.0}]}, (("c2",),)),),
    (Message("assistant", (Call("c0", "run_sql", "{}"),), id="m1"), Message("tool", (Result("c0", "run_sql", "1"),))),
    3,
    2,
    "Europe/Lisbon",
)


@pytest.fixture
def seal(tmp_path: Path) -> StateSigner:
    return StateSigner(tmp_path / "state" / "openbb.key")


def test_a_state_comes_back_as_it_was(seal: StateSigner) -> None:
    sent = json.loads(json.dumps(seal.sign(STATE)))

    assert seal.verify(sent, "default") == STATE


def test_a_client_that_lost_it_has_none(seal: StateSigner) -> None:
    assert seal.verify({}, "default") is None


def altered(text: str, place: int) -> str:
    return text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]


@pytest.mark.parametrize(
    "change",
    [
        lambda state: {STATE_FIELD: altered(state[STATE_FIELD], 3)},
        lambda state: {STATE_FIELD: altered(state[STATE_FIELD], len(state[STATE_FIELD]) // 2)},
        lambda state: {STATE_FIELD: state[STATE_FIELD][:-8]},
        lambda state: {STATE_FIELD: ""},
        lambda state: {STATE_FIELD: 7},
        lambda state: {STATE_FIELD: None},
        lambda state: {"pending": [], "hops": -100},
        lambda state: {STATE_FIELD: "äöü"},
    ],
)
def test_what_was_altered_or_made_up_is_refused(seal: StateSigner, change: Any) -> None:
    with pytest.raises(InvalidSignature, match="ask your question again"):
        seal.verify(change(seal.sign(STATE)), "default")


def test_a_state_of_another_agent_is_refused(seal: StateSigner) -> None:
    with pytest.raises(InvalidSignature):
        seal.verify(seal.sign(STATE), "guarded")


def test_servers_that_share_a_folder_know_each_others_states(tmp_path: Path) -> None:
    first, second = StateSigner(tmp_path / "a" / "openbb.key"), StateSigner(tmp_path / "a" / "openbb.key")

    assert second.verify(first.sign(STATE), "default") == STATE
    with pytest.raises(InvalidSignature):
        StateSigner(tmp_path / "b" / "openbb.key").verify(first.sign(STATE), "default")


def test_servers_that_share_a_secret_need_no_folder(tmp_path: Path) -> None:
    first, second = (StateSigner(tmp_path / name, "a secret of sixteen") for name in "ab")

    assert second.verify(first.sign(STATE), "default") == STATE
    assert not list(tmp_path.iterdir())


def test_the_key_is_for_its_user_alone(seal: StateSigner, tmp_path: Path) -> None:
    seal.sign(STATE)

    assert [path.name for path in (tmp_path / "state").iterdir() if path.suffix == ".key"] == ["openbb.key"]
    assert (tmp_path / "state" / "openbb.key").stat().st_mode & 0o777 == 0o600


def test_an_invalid_key_is_reported(tmp_path: Path) -> None:
    (tmp_path / "openbb.key").write_bytes(b"short")

    with pytest.raises(ConfigError, match=r"openbb\.key is invalid"):
        StateSigner(tmp_path / "openbb.key").sign(STATE)


def test_tool_results_are_kept_as_far_as_the_budget_allows() -> None:
    def said(id: str, size: int) -> Message:
        return Message("tool", (Result(id, "run_sql", os.urandom(size // 2).hex()),))

    messages = [said("old", 20_000), said("new", 20_000)]

    old, new = (message.parts[0] for message in limit_messages(messages))

    assert isinstance(old, Result)
    assert "too long to be kept" in old.content
    assert new == messages[1].parts[0]
    assert MAX_CARRIED_CHARS < 40_000
