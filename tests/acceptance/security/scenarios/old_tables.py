"""Migrations as a way in: tables of an older version with hostile rows, and a hostile version."""

import json
import pickle
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fakes import say
from judging import SLACK, all_of, check, scenario, short
from stage import Server, Stage, unique

from scenarios.reach import Planted

PYTHON = Path(__file__).resolve().parents[4] / ".venv" / "bin" / "python"
OLD = "0002"  # before the migration that reads and writes each message
DOWNGRADE = """
import sys
from alembic import command
from sqlalchemy import create_engine
from rightseat.stores.migrations.runner import build_config
with create_engine(sys.argv[1]).begin() as connection:
    command.downgrade(build_config(connection), sys.argv[2])
"""
EXECUTE = """
import json, sys
import psycopg
with psycopg.connect(sys.argv[1]) as connection:
    for statement, values in json.load(sys.stdin):
        cursor = connection.execute(statement, values or None)
    print(json.dumps(cursor.fetchall() if cursor.description else []))
"""
TEXTS = (
    "'); DROP TABLE threads; --", "%s %(a)s :a ?1 $1 {0}", "a\\u0000b", "\u202e\x1b[2J", "x" * 2_000_000, "{{ 7*7 }} ${7*7} #{7*7}", "__import__('os').system('id')",
)  # fmt: skip
VERSIONS = ("'; DROP TABLE threads; --", "../../../../tmp/x", "heads", "base", "head", "9999", "0001:head", "0000", "x" * 32, "a\x1b[2J")


def message(text: str) -> str:
    """As rows of messages hold it. The text may have escapes of JSON."""
    return '{"id": "m", "role": "user", "parts": [{"type": "text", "text": "%s"}]}' % text.replace('"', "'").replace("\x1b", "\\u001b")


def downgrade(url: str) -> None:
    done = subprocess.run([str(PYTHON), "-c", DOWNGRADE, url, OLD], capture_output=True, text=True, timeout=60 * SLACK, check=False)
    check(done.returncode == 0, f"the tables could not be made old: {short(done.stderr[-300:], 300)}")


def start(server: Server) -> str:
    """Why it does not start; empty if it does, and if it answers."""
    try:
        server.start(60)
    except Exception as refused:
        return str(refused)
    status = server.run("plain", "are you well?")[0]
    return "" if status == 200 else f"a run gives {status}"


def judge_rows(stage: Stage, server: Server, url: str, execute: Callable[[str, tuple[Any, ...]], list[Any]], mark: str) -> None:
    """`mark` is what stands for a value in a statement."""
    planted = stage.folder / unique("planted")
    thread = unique("old")
    server.run("plain", f"hello {stage.says(lambda _: say('kept-since-then'))}", thread, key="alice")
    server.stop()
    downgrade(url)
    texts = [*TEXTS, pickle.dumps(Planted(planted), 0).decode("latin-1").replace("\\", "\\\\").replace("\n", "\\n")]
    columns = "id, owner, agent, name, archived, created_at, updated_at"
    for number, text in enumerate(texts):
        id = f"{number}-{text[:40]}".replace("\\", "/")
        values = (id, "alice", "plain", text[:200], False, "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00")
        execute(f"INSERT INTO threads ({columns}) VALUES ({', '.join([mark] * 7)})", values)
        execute(f"INSERT INTO messages (thread_id, position, id, message) VALUES ({', '.join([mark] * 4)})", (id, 0, f"m{number}", message(text)))
    before = execute("SELECT count(*) FROM threads", ())[0][0]
    refused = start(server)
    check(not refused, f"the server does not start with rows of others in old tables: {short(refused, 300)}")
    wrong = [f"a line of the log has a control character: {short(line, 120)}" for line in server.logs().splitlines() if "\x1b" in line or "\u202e" in line]
    found = server.get("/copilotkit/threads?limit=100", key="alice")
    wrong += [] if found[0] == 200 and thread in found[2] else [f"the user's threads are answered with {found[0]}"]
    kept = server.get(f"/copilotkit/threads/{thread}/messages", key="alice")[2]
    wrong += [] if "kept-since-then" in kept else ["what a user had before is lost"]
    search = server.get("/copilotkit/threads?search=system", key="alice")[0]
    wrong += [] if search == 200 else [f"a search over the rows gives {search}"]
    after = execute("SELECT count(*) FROM threads", ())[0][0]
    server.kill()
    wrong += [] if after >= before else [f"{before - after} threads are gone"]
    check(not planted.exists(), "a row was run as code")
    all_of(wrong)


def judge_versions(server: Server, execute: Callable[[str, tuple[Any, ...]], list[Any]], mark: str) -> None:
    """A version that no rightseat has written: the start is refused in a line, and the tables stay."""
    wrong = []
    newest = execute("SELECT version_num FROM rightseat_version", ())[0][0]
    for version in VERSIONS:
        execute(f"UPDATE rightseat_version SET version_num = {mark}", (version,))
        begun = len(server.logs())
        refused = start(server)
        server.kill()
        said = server.logs()[begun:]
        if not refused:
            wrong.append(f"the server starts with the version {short(version, 40)}")
        if "Traceback" in said or "\x1b" in said:
            wrong.append(f"the version {short(version, 40)} gives a traceback, or controls the terminal: {short(said[-200:], 200)}")
    execute(f"UPDATE rightseat_version SET version_num = {mark}", (newest,))
    refused = start(server)
    server.kill()
    all_of(wrong + ([f"the tables are not as they were: {short(refused, 200)}"] if refused else []))


@scenario("old-tables-with-hostile-rows", alone=True)
def old_rows(stage: Stage) -> None:
    """SQLite: tables of an older version with rows that have SQL, placeholders, NUL, control characters, 2 MB, templates and a pickle in them are migrated: nothing is run, no row is lost, and the users' threads are there. A version that no rightseat has written is refused in a line, and the tables stay."""
    state = stage.folder / unique("state-old")
    state.mkdir(mode=0o700)
    with stage.fresh("old", state=state, RS_OVERLAY=json.dumps({"faces": [{"type": "operator"}]})) as server:
        server.run("plain", "hello", unique(), key="alice")
        file = next(one for one in state.rglob("*.db") if has_threads(one))

        def execute(statement: str, values: tuple[Any, ...]) -> list[Any]:
            connection = sqlite3.connect(file)
            with connection:
                rows = connection.execute(statement, values).fetchall()
            connection.close()
            return rows

        judge_rows(stage, server, f"sqlite:///{file}", execute, "?")
        judge_versions(server, execute, "?")


def has_threads(file: Path) -> bool:
    connection = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
    try:
        return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'threads'").fetchone())
    except sqlite3.Error:
        return False
    finally:
        connection.close()


@scenario("old-tables-on-a-fleet", alone=True)
def old_rows_on_a_fleet(stage: Stage) -> None:
    """The same with PostgreSQL."""
    name = unique("old").replace("-", "_")
    database = stage.postgres().create(name)
    environment = {"RS_DATABASE_URL": database, "RS_REDIS_URL": stage.redis().url(), "RS_OVERLAY": json.dumps({"faces": [{"type": "operator"}]})}

    def execute(statement: str, values: tuple[Any, ...]) -> list[Any]:
        return run_statements(database, [(statement, values)])

    with stage.fresh("old", **environment) as server:
        judge_rows(stage, server, database.replace("postgresql://", "postgresql+psycopg://"), execute, "%s")
        judge_versions(server, execute, "%s")


def run_statements(url: str, statements: list[tuple[str, tuple[Any, ...]]]) -> list[Any]:
    """The rows of the last one. The project's environment has the driver."""
    done = subprocess.run([str(PYTHON), "-c", EXECUTE, url], input=json.dumps(statements), capture_output=True, text=True, timeout=60 * SLACK, check=False)
    check(done.returncode == 0, f"a statement of the suite failed: {short(done.stderr[-300:], 300)}")
    rows: list[Any] = json.loads(done.stdout)
    return rows
