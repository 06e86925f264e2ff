"""Attempts and results of evaluations, in a SQLite file: one row an attempt, written as the attempt ends.

Several evaluations may use the file at once. A process that is killed loses the attempts that were open.
"""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from rightseat.core.errors import RightseatError
from rightseat.core.events import Event
from rightseat.evals.attempts import Attempt, Outcome
from rightseat.evals.results import EvalResult
from rightseat.parts import hint, private_folder

FILE = "evals.db"
BUSY_TIMEOUT_S = 60.0
_LAST = re.compile(r"last(?:~(\d{1,9}))?")
_TABLES = """
CREATE TABLE IF NOT EXISTS attempts (
    key TEXT NOT NULL, dataset TEXT NOT NULL, name TEXT NOT NULL, attempt BLOB NOT NULL, events BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS attempts_key ON attempts (key);
CREATE TABLE IF NOT EXISTS results (id TEXT PRIMARY KEY, label TEXT, result BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, verdict TEXT NOT NULL);
"""


class ResultNotFound(RightseatError):
    code = "result_not_found"
    status = 404


class CaseSummary(msgspec.Struct, frozen=True):
    """What a list of cases shows of a `CaseResult`. `at` is when its evaluation began."""

    content: str
    outcome: Outcome
    flaky: bool
    at: str = ""


class _ResultSummary(msgspec.Struct, frozen=True):
    at: str
    cases: Sequence[CaseSummary]


class ResultStore:
    """`folder` is created. An attempt with an error is stored for its events, and never found again by its key."""

    def __init__(self, folder: Path) -> None:
        private_folder(folder)
        self._database = sqlite3.connect(folder / FILE, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.executescript(_TABLES)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add_attempt(self, key: str, dataset: str, attempt: Attempt, events: Sequence[Event]) -> None:
        row = (
            "" if attempt.error is not None else key,
            dataset,
            attempt.case,
            msgspec.json.encode(attempt),
            msgspec.json.encode(events),
        )
        self._database.execute("INSERT INTO attempts VALUES (?, ?, ?, ?, ?)", row)

    def find_attempt(self, key: str) -> Attempt | None:
        """The last one with this key."""
        query = "SELECT attempt FROM attempts WHERE key = ? ORDER BY rowid DESC LIMIT 1"
        row = self._read_one(query, (key,))
        return msgspec.json.decode(row, type=Attempt) if row is not None else None

    def add_verdict(self, key: str, verdict: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?)", (key, verdict))

    def find_verdict(self, key: str) -> str | None:
        """A judge's verdict; `key` is a hash of its rubric, its model and the text."""
        found = self._read_one("SELECT verdict FROM verdicts WHERE key = ?", (key,))
        return None if found is None else str(found)

    def add_result(self, result: EvalResult) -> None:
        row = (result.id, result.label, msgspec.json.encode(result))
        self._database.execute("INSERT INTO results VALUES (?, ?, ?)", row)

    def find_result(self, name: str) -> EvalResult:
        """By its id, its label (the last with it), `last`, or `last~1` for the one before. Raises `ResultNotFound`."""
        if match := _LAST.fullmatch(name):
            query, values = "SELECT result FROM results ORDER BY rowid DESC LIMIT 1 OFFSET ?", (match[1] or "0",)
        else:
            query = "SELECT result FROM results WHERE id = ?1 OR label = ?1 ORDER BY rowid DESC LIMIT 1"
            values = (name,)
        row = self._read_one(query, values)
        if row is None:
            known = [
                str(label) for (label,) in self._read("SELECT DISTINCT label FROM results WHERE label IS NOT NULL")
            ]
            raise ResultNotFound(
                f"There is no result {name!r}.{hint(name, known)} `rightseat eval list --results` lists them."
            )
        return msgspec.json.decode(row, type=EvalResult)

    def list_results(self) -> list[EvalResult]:
        """The oldest first."""
        return [msgspec.json.decode(row, type=EvalResult) for (row,) in self._read("SELECT result FROM results")]

    def list_outcomes(self, results: int) -> list[CaseSummary]:
        """Those of the cases of the last results, the oldest first."""
        rows = self._read("SELECT result FROM results ORDER BY rowid DESC LIMIT ?", (str(results),))
        found = [msgspec.json.decode(row, type=_ResultSummary) for (row,) in reversed(rows)]
        return [msgspec.structs.replace(case, at=result.at) for result in found for case in result.cases]

    def forget_case(self, dataset: str, name: str) -> None:
        """Delete the attempts of a case, the results that have it, and what judges said, which is not told apart."""
        self._database.execute("DELETE FROM verdicts")
        self._database.execute("DELETE FROM attempts WHERE dataset = ? AND name = ?", (dataset, name))
        for result in self.list_results():
            if any((case.dataset, case.name) == (dataset, name) for case in result.cases):
                self._database.execute("DELETE FROM results WHERE id = ?", (result.id,))

    def _read(self, query: str, values: Sequence[str] = ()) -> list[tuple[bytes]]:
        with closing(self._database.execute(query, values)) as rows:
            return rows.fetchall()

    def _read_one(self, query: str, values: Sequence[str]) -> bytes | None:
        rows = self._read(query, values)
        return rows[0][0] if rows else None
