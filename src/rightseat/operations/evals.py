"""Cases of evaluations, for faces that pin runs. `evals.server` implements it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from rightseat.operations.recordings import RunRecording


class CaseRequest(msgspec.Struct, frozen=True):
    """`dataset` and `name` are names, not paths. `wrong` says what should have happened, `consent` who agreed. With
    `preview` nothing is written."""

    dataset: str
    name: str | None = None
    wrong: str | None = None
    consent: str | None = None
    preview: bool = False


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
