"""The cache of mypy that checkouts share."""

import os
import time
from pathlib import Path

import pytest

from tests.gate.types import LOCKS, MAX_AGE_S, fetch, find_shared, share


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    return tmp_path / "caches" / "key"


def write(cache: Path, content: str) -> Path:
    cache.mkdir()
    (cache / "cache.db").write_text(content)
    return cache


def test_a_new_checkout_begins_with_what_another_has_found_out(tmp_path: Path, shared: Path) -> None:
    share(write(tmp_path / "first", "old"), shared)
    share(write(tmp_path / "second", "new"), shared)
    fetch(tmp_path / "third", shared)

    assert (tmp_path / "third" / "cache.db").read_text() == "new"
    assert [path.name for path in shared.parent.iterdir() if path.is_dir()] == ["key"]


def test_a_checkout_with_a_cache_keeps_it(tmp_path: Path, shared: Path) -> None:
    share(write(tmp_path / "first", "shared"), shared)
    fetch(write(tmp_path / "second", "own"), shared)

    assert (tmp_path / "second" / "cache.db").read_text() == "own"


def test_without_a_shared_cache_mypy_begins_with_none(tmp_path: Path, shared: Path) -> None:
    fetch(tmp_path / "first", shared)

    assert not (tmp_path / "first").exists()


def test_what_a_killed_run_has_left_and_old_caches_are_deleted(tmp_path: Path, shared: Path) -> None:
    for name in ("key.new", "of other packages", "of other packages, not used any more"):
        (shared.parent / name).mkdir(parents=True)
    old = time.time() - MAX_AGE_S - 60
    os.utime(shared.parent / "of other packages, not used any more", (old, old))
    share(write(tmp_path / "first", "new"), shared)

    assert sorted(path.name for path in shared.parent.iterdir() if path.is_dir()) == ["key", "of other packages"]


def test_other_packages_have_another_cache(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    for name in LOCKS:
        (tmp_path / "requirements" / name).write_text("mypy==1\n")
    before = find_shared(tmp_path)
    (tmp_path / "requirements" / LOCKS[1]).write_text("mypy==2\n")

    assert find_shared(tmp_path) != before
    assert find_shared(tmp_path).parent == before.parent
