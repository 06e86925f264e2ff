"""Cases of evaluations, for faces that pin runs and run them again. `evals.server` implements it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from rightseat.core.model import Model
from rightseat.limits.ledger import Ledger
from rightseat.limits.prices import Prices
from rightseat.operations.recordings import RunRecording
from rightseat.operations.reruns import Rerun, RerunForm, RunChanges


class CaseRequest(msgspec.Struct, frozen=True):
    """`dataset` and `name` are names, not paths. `wrong` says what should have happened, `consent` who agreed. With
    `preview` nothing is written. `changes` are those of a rerun that is kept as a case."""

    dataset: str
    name: str | None = None
    wrong: str | None = None
    consent: str | None = None
    preview: bool = False
    changes: RunChanges | None = None


class PinnedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A case that was pinned. A preview, and a server that writes no files, have no `file`, and return the text of a
    dataset with the case, and the files beside it as base64 by their paths."""

    dataset: str
    name: str
    turns: int
    recorded: int
    redacted: int
    notes: Sequence[str]
    file: str | None = None
    text: str | None = None
    files: Mapping[str, str] = {}


class CaseLine(msgspec.Struct, frozen=True, kw_only=True):
    """`question` is the beginning of the first one. `outcome` is that of the last evaluation of the case as it is now,
    which began `at` this time; None if there is none on this machine. `scorers` are names."""

    name: str
    question: str
    agent: str | None
    thread: str | None
    run: str | None
    redacted: bool | None
    scorers: Sequence[str]
    outcome: str | None = None
    flaky: bool = False
    at: str | None = None


class DatasetLine(msgspec.Struct, frozen=True):
    """`problem` says why the file cannot be read."""

    name: str
    cases: Sequence[CaseLine]
    problem: str | None = None


class CaseRules(msgspec.Struct, frozen=True):
    """`folder` is where cases are written; None if they are offered as a download."""

    folder: str | None
    needs_consent: bool


@dataclass(frozen=True, slots=True)
class SharedModels:
    """The open models of a server, for runs that are run again. Without a `ledger` the server has no usage report."""

    by_name: Mapping[str, Model]
    prices: Prices
    ledger: Ledger | None


class Evals(Protocol):
    async def find_recording(self, run: str) -> RunRecording | None:
        """A transient run that was recorded."""
        ...

    async def pin(self, run: str, request: CaseRequest) -> PinnedLine:
        """Raises `BadRequest`, or an error with the status 404 or 409 if the run cannot be pinned."""
        ...

    @property
    def rules(self) -> CaseRules: ...

    async def list_datasets(self) -> Sequence[DatasetLine]: ...

    async def describe_rerun(self, run: str) -> RerunForm:
        """Raises as `pin`."""
        ...

    async def start_rerun(self, run: str, changes: RunChanges, operator: str) -> Rerun:
        """Raises as `pin`, and `RerunBusy`."""
        ...
