"""Cases of evaluations, for faces that pin runs. `evals.server` implements it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from rightseat.operations.recordings import RunRecording


class CaseRequest(msgspec.Struct, frozen=True):
    """`dataset` and `name` are names, not paths. `wrong` says what should have happened, `consent` who agreed."""

    dataset: str
    name: str | None = None
    wrong: str | None = None
    consent: str | None = None


class PinnedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A case that was pinned. A server that writes no files has no `file`, and returns the text of a dataset with the
    case, and the files beside it as base64 by their paths."""

    dataset: str
    name: str
    turns: int
    recorded: int
    redacted: int
    notes: Sequence[str]
    file: str | None = None
    text: str | None = None
    files: Mapping[str, str] = {}


class CaseLine(msgspec.Struct, frozen=True):
    name: str
    agent: str | None
    run: str | None
    redacted: bool | None


class DatasetLine(msgspec.Struct, frozen=True):
    """`problem` says why the file cannot be read."""

    name: str
    cases: Sequence[CaseLine]
    problem: str | None = None


class Evals(Protocol):
    async def find_recording(self, run: str) -> RunRecording | None:
        """A transient run that was recorded."""
        ...

    async def pin(self, run: str, request: CaseRequest) -> PinnedLine:
        """Raises `BadRequest`, or an error with the status 404 or 409 if the run cannot be pinned."""
        ...

    async def list_datasets(self) -> Sequence[DatasetLine]: ...
