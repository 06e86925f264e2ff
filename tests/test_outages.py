"""The log has few lines about an outage, and the errors of each driver are recognized."""

import errno
import logging
import sqlite3
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from rightseat.core.errors import BadRequest, StorageFull, StoreUnreachable
from rightseat.core.full_storage import explain_full_storage, is_storage_full
from rightseat.outages import OutageLog, find_outage
from rightseat.sqlite_writer import SqliteWriter
from tests.services import free_port


def test_an_outage_has_a_line_at_its_beginning_every_30_s_and_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    now = 0.0
    outage = OutageLog("the database", logging.getLogger("test"), lambda: now)
    outage.recover()
    for second in range(70):
        now = float(second)
        outage.fail("connection refused")
    outage.recover()
    outage.recover()

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "cannot use the database, retrying: connection refused"),
        ("WARNING", "still cannot use the database after 30 s and 31 failures: connection refused"),
        ("WARNING", "still cannot use the database after 60 s and 61 failures: connection refused"),
        ("INFO", "the database can be used again after 69.0 s and 70 failures"),
    ]


async def test_a_full_file_fails_jobs_with_storage_full_until_there_is_space(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    writer = SqliteWriter(tmp_path / "full.db")
    await writer.write(lambda: writer.connection.execute("CREATE TABLE stored (content BLOB)"))
    writer.connection.execute("PRAGMA max_page_count = 3")  # SQLite's own way to be full
    for _ in range(3):
        with pytest.raises(StorageFull):
            await writer.write(lambda: writer.connection.execute("INSERT INTO stored VALUES (zeroblob(65536))"))
    (count,) = await writer.read(lambda: writer.connection.execute("SELECT count(*) FROM stored").fetchone())
    writer.connection.execute("PRAGMA max_page_count = 1000")
    await writer.write(lambda: writer.connection.execute("INSERT INTO stored VALUES (zeroblob(65536))"))
    await writer.close()

    assert count == 0
    warning, info = caplog.messages
    assert warning == f"cannot use the disk of {tmp_path / 'full.db'}, retrying: database or disk is full"
    assert info.startswith(f"the disk of {tmp_path / 'full.db'} can be used again after ")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT], ids=["no space", "quota"])
def test_a_full_disk_is_recognized_below_other_errors(number: int) -> None:
    below = RuntimeError("the step failed")
    below.__cause__ = OSError(number, "full")

    assert is_storage_full(below)
    assert isinstance(explain_full_storage(below), StorageFull)
    assert find_outage(below) == "the disk is full, or fails"


def test_other_errors_are_no_outage() -> None:
    locked = sqlite3.OperationalError("database is locked")
    refused = BadRequest("no")

    for error in (locked, refused, ValueError("no"), OSError(errno.EACCES, "denied")):
        assert not is_storage_full(error)
        assert explain_full_storage(error) is error
        assert find_outage(error) is None


def test_a_database_that_is_away_is_an_outage() -> None:
    engine = create_engine(f"postgresql+psycopg://127.0.0.1:{free_port()}/none")
    with pytest.raises(DBAPIError) as caught, engine.connect() as connection:
        connection.execute(text("SELECT 1"))

    assert "refused" in (find_outage(caught.value) or "")
    assert find_outage(psycopg.errors.AdminShutdown("terminating connection")) == "terminating connection"
    assert find_outage(StoreUnreachable()) == str(StoreUnreachable())
