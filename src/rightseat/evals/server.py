"""Pins runs, and runs them again, for the operator face of a server."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from rightseat.config import Config
from rightseat.core.errors import BadRequest
from rightseat.core.log import Log
from rightseat.evals.cases import Case, Dataset
from rightseat.evals.dataset import append_case, find_path, list_datasets, read_dataset
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.pinning import Pinner, build_pinner
from rightseat.evals.recording import PinnedCase, PinOptions
from rightseat.evals.rerun import Reruns
from rightseat.evals.result_store import FILE, CaseSummary, ResultStore
from rightseat.evals.results import fingerprint_case
from rightseat.evals.sources import Sources
from rightseat.operations.evals import (
    CaseLine,
    CaseRequest,
    CaseRules,
    DatasetLine,
    Evals,
    PinnedLine,
    SharedModels,
)
from rightseat.operations.recordings import RunRecording
from rightseat.operations.reruns import Rerun, RerunForm, RunChanges
from rightseat.operations.store import Store

MAX_QUESTION_CHARS = 200
MAX_RESULTS = 20  # that are read for the outcomes of cases

FileMark = tuple[tuple[int, int], ...]
"""The time of the last change and the size of each file."""


def build(config: Config, store: Store, log: Log, models: SharedModels) -> Evals | None:
    """None if the store cannot say what a case is made of."""
    if store.records is None or store.recordings is None:
        return None
    sources = Sources(store.records, store.recordings, store.threads.load, log)
    return ServerEvals(config, build_pinner(config, sources, log), models)


class ServerEvals:
    """Pins one run and reads one dataset at a time: both are work for the processor and take memory."""

    def __init__(self, config: Config, pinner: Pinner, models: SharedModels) -> None:
        self._turn = asyncio.Lock()
        self._reruns = Reruns(config, pinner.sources, models, self._turn)
        self._known: dict[str, DescribedDataset] = {}
        self._config = config
        self._pinner = pinner
        self._writes = config.evals.folder is not None or config.server.is_local

    async def find_recording(self, run: str) -> RunRecording | None:
        return await self._pinner.sources.recordings.find(run)

    async def pin(self, run: str, request: CaseRequest) -> PinnedLine:
        options = PinOptions(request.name, request.wrong or None, request.consent, changes=request.changes)
        try:
            find_path(self._config.evals_folder, request.dataset)
            async with self._turn:
                pinned = await self._pinner.build(run, options, keeps=not request.preview)
                append = self._append if self._writes and not request.preview else self._offer
                return await asyncio.to_thread(append, request, pinned)
        except DatasetError as error:
            raise BadRequest(error.message) from error

    def _append(self, request: CaseRequest, pinned: PinnedCase) -> PinnedLine:
        path, written = self._pinner.append(request.dataset, pinned, is_named=request.name is not None)
        return msgspec.structs.replace(describe(request, written), file=str(path))

    def _offer(self, request: CaseRequest, pinned: PinnedCase) -> PinnedLine:
        """The dataset as it would be, if it had this case only."""
        with TemporaryDirectory() as folder:
            path = append_case(Path(folder), request.dataset, pinned.case, pinned.files)
            beside = {str(file.relative_to(folder)): file for file in Path(folder).glob("*.files/*")}
            files = {name: base64.b64encode(file.read_bytes()).decode() for name, file in beside.items()}
            return msgspec.structs.replace(
                describe(request, pinned), text=path.read_text(encoding="utf-8"), files=files
            )

    async def describe_rerun(self, run: str) -> RerunForm:
        return await self._reruns.describe(run)

    async def start_rerun(self, run: str, changes: RunChanges, operator: str) -> Rerun:
        return await self._reruns.start(run, changes, operator)

    @property
    def rules(self) -> CaseRules:
        folder = str(self._config.evals_folder) if self._writes else None
        return CaseRules(folder, self._config.evals.consent == "required")

    async def list_datasets(self) -> Sequence[DatasetLine]:
        async with self._turn:
            return await asyncio.to_thread(self._list)

    def _list(self) -> Sequence[DatasetLine]:
        """Files that have not changed are not read again."""
        folder = self._config.evals_folder
        known, self._known = self._known, {}
        for name in list_datasets(folder):
            mark = mark_files(folder, name)
            dataset = known.get(name)
            is_unchanged = dataset is not None and dataset.mark == mark
            self._known[name] = known[name] if is_unchanged else describe_dataset(folder, name, mark)
        outcomes = read_outcomes(self._config.server.state_dir / "evals")
        return [dataset.with_outcomes(outcomes) for dataset in self._known.values()]


@dataclass(frozen=True, slots=True)
class DescribedDataset:
    """`contents` are the fingerprints of its cases, by which their outcomes are known."""

    mark: FileMark
    line: DatasetLine
    contents: Sequence[str] = ()

    def with_outcomes(self, outcomes: Mapping[str, CaseSummary]) -> DatasetLine:
        known = zip(self.line.cases, map(outcomes.get, self.contents), strict=True)
        return msgspec.structs.replace(self.line, cases=[add_outcome(case, outcome) for case, outcome in known])


def read_outcomes(folder: Path) -> Mapping[str, CaseSummary]:
    """By the content of the case. Empty if nothing was evaluated on this machine."""
    if not (folder / FILE).exists():
        return {}
    with ResultStore(folder) as store:
        return {case.content: case for case in store.list_outcomes(MAX_RESULTS)}


def describe(request: CaseRequest, pinned: PinnedCase) -> PinnedLine:
    return PinnedLine(
        dataset=request.dataset,
        name=pinned.case.name,
        turns=pinned.turns,
        recorded=len(pinned.case.recorded),
        redacted=pinned.redacted,
        notes=pinned.notes,
    )


def mark_files(folder: Path, name: str) -> FileMark:
    """Changes with the file of a dataset, and with the files that are beside it."""
    paths = (find_path(folder, name), folder / f"{name}.files")
    return tuple((stat.st_mtime_ns, stat.st_size) for stat in (path.stat() for path in paths if path.exists()))


def describe_dataset(folder: Path, name: str, mark: FileMark) -> DescribedDataset:
    try:
        dataset = read_dataset(folder, name).dataset
    except DatasetError as error:
        return DescribedDataset(mark, DatasetLine(name, (), error.message))
    line = DatasetLine(name, [describe_case(dataset, case) for case in dataset.cases])
    return DescribedDataset(mark, line, [fingerprint_case(dataset, case) for case in dataset.cases])


def describe_case(dataset: Dataset, case: Case) -> CaseLine:
    return CaseLine(
        name=case.name,
        question=case.turns[0].text[:MAX_QUESTION_CHARS],
        agent=case.agent or dataset.agent,
        thread=case.source.thread if case.source else None,
        run=case.source.run if case.source else None,
        redacted=case.source.redacted if case.source else None,
        scorers=[scorer for spec in (*dataset.scorers, *case.scorers) for scorer in spec],
    )


def add_outcome(case: CaseLine, outcome: CaseSummary | None) -> CaseLine:
    if outcome is None:
        return case
    return msgspec.structs.replace(case, outcome=outcome.outcome, flaky=outcome.flaky, at=outcome.at)
