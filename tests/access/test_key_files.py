"""Keys in files: made once, whole, and shared by processes that start together."""

import os
from pathlib import Path

import pytest

from rightseat.access.key_files import load_or_create_key
from rightseat.core.errors import ConfigError


def test_a_key_is_created_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "session.key"

    key = load_or_create_key(path)

    assert load_or_create_key(path) == key
    assert len(key) == 32
    assert path.stat().st_mode & 0o777 == 0o600


def test_processes_that_start_together_get_the_same_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process starts and reads the key while this one makes its own."""
    path = tmp_path / "session.key"
    others: list[bytes] = []
    make_random = os.urandom

    def start_another(size: int) -> bytes:
        monkeypatch.setattr(os, "urandom", make_random)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        others.append(load_or_create_key(path))
        return make_random(size)

    monkeypatch.setattr(os, "urandom", start_another)

    assert [load_or_create_key(path)] == others
    assert [file.name for file in tmp_path.iterdir()] == ["session.key"]


def test_a_short_key_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "session.key"
    path.write_bytes(b"short")

    with pytest.raises(ConfigError, match=r"session\.key is invalid\. Delete the file to create a new key"):
        load_or_create_key(path)
