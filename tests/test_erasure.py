"""What was deleted from a SQLite file is in none of its bytes any more, whatever SQLite itself would leave."""

import logging
import random
import sqlite3
from pathlib import Path

import pytest

from rightseat import erasure
from rightseat.erasure import Eraser, clean_file, erase, overwrite_deleted
from tests.conditions import until


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = OFF")
    overwrite_deleted(connection)
    return connection


def content(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def fill(connection: sqlite3.Connection, chance: random.Random) -> tuple[set[str], set[str]]:
    """Rows of all sizes are added, made longer and deleted. Returns what is left, and what was deleted."""
    connection.execute("CREATE TABLE rows (id TEXT PRIMARY KEY, content TEXT, more TEXT)")
    kept, deleted = list[str](), set[str]()
    for number in range(1000):
        mark = f"<{number:05}{chance.getrandbits(64):016x}>"
        connection.execute("INSERT INTO rows (id, content) VALUES (?, ?)", (mark, mark * chance.choice((1, 9, 300))))
        kept.append(mark)
        one = chance.choice(kept)
        if chance.random() < 0.5:
            connection.execute("UPDATE rows SET more = ? WHERE id = ?", (one * chance.choice((1, 9, 99)), one))
        else:
            connection.execute("DELETE FROM rows WHERE id = ?", (one,))
            kept.remove(one)
            deleted.add(one)
    return set(kept), deleted


@pytest.mark.parametrize("seed", range(3))
def test_no_byte_of_a_deleted_row_is_left(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "a.db"
    connection = connect(path)
    kept, deleted = fill(connection, random.Random(seed))

    before = content(path)
    assert erase(path)
    after = content(path)

    assert any(mark.encode() in before for mark in deleted)
    assert not [mark for mark in deleted if mark.encode() in after]
    assert all(mark.encode() in after for mark in kept)
    assert Path(f"{path}-wal").stat().st_size == 0
    connection.close()


async def test_deletions_are_erased_soon_also_while_others_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    attempts: list[bool] = []

    def record_attempt(path: Path) -> bool:
        attempts.append(erase(path))
        return attempts[-1]

    monkeypatch.setattr(erasure, "erase", record_attempt)
    connection, reader = connect(path), connect(path)
    connection.execute("CREATE TABLE rows (content TEXT)")
    connection.execute("INSERT INTO rows VALUES ('secret')")
    eraser = Eraser(path)

    reader.execute("BEGIN")
    reader.execute("SELECT * FROM rows").fetchall()
    connection.execute("DELETE FROM rows")
    eraser.request()
    await until(lambda: attempts)
    held = b"secret" in content(path)
    reader.execute("COMMIT")
    await until(lambda: b"secret" not in content(path))

    assert held
    assert attempts[0] is False
    await eraser.close()
    connection.close()
    reader.close()


async def test_pending_erasures_are_done_at_shutdown(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    connection = connect(path)
    connection.execute("CREATE TABLE rows (content TEXT)")
    connection.execute("INSERT INTO rows VALUES ('secret')")
    connection.execute("DELETE FROM rows")
    eraser = Eraser(path)

    eraser.request()
    await eraser.close()

    assert b"secret" not in content(path)
    connection.close()


async def test_a_file_that_stays_in_use_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(erasure, "WARN_AFTER_S", 0.0)
    monkeypatch.setattr(erasure, "CLOSING_S", 0.0)
    path = tmp_path / "a.db"
    connection, reader = connect(path), connect(path)
    connection.execute("CREATE TABLE rows (content TEXT)")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM rows").fetchall()
    connection.execute("INSERT INTO rows VALUES ('secret')")
    eraser = Eraser(path)

    eraser.request()
    await until(lambda: "is not erased yet" in caplog.text)

    await eraser.close()
    assert "is in use" in caplog.text
    connection.close()
    reader.close()


def test_what_was_deleted_before_rows_were_overwritten_is_erased_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.db"
    old = sqlite3.connect(path, isolation_level=None)
    old.execute("PRAGMA secure_delete = OFF")
    old.execute("CREATE TABLE rows (content TEXT)")
    old.execute("INSERT INTO rows VALUES ('secret')")
    old.execute("DELETE FROM rows")
    old.close()
    before = content(path)

    with caplog.at_level(logging.INFO):
        clean_file(path)
        clean_file(path)

    assert b"secret" in before
    assert b"secret" not in content(path)
    assert caplog.text.count("writing") == 1
