"""Pins runs for the operator face of a server."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
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
from rightseat.evals.result_store import FILE, CaseSummary, ResultStore
from rightseat.evals.results import fingerprint_case
from rightseat.evals.sources import Sources
from rightseat.operations.evals import CaseLine, CaseRequest, CaseRules, DatasetLine, Evals, PinnedLine
from rightseat.operations.recordings import RunRecording
from rightseat.operations.store import Store

MAX_QUESTION_CHARS = 200
MAX_RESULTS = 20  # that are read for the outcomes of cases


def build(config: Config, store: Store, log: Log) -> Evals | None:
    """None if the store cannot say what a case is made of."""
    if store.records is None or store.recordings is None:
        return None
    sources = Sources(store.records, store.recordings, store.threads.load, log)
    return ServerEvals(config, build_pinner(config, sources, log))


class ServerEvals:
    def __init__(self, config: Config, pinner: Pinner) -> None:
        self._config = config
        self._pinner = pinner
        self._writes = config.evals.folder is not None or config.server.is_local

    async def find_recording(self, run: str) -> RunRecording | None:
        return await self._pinner.sources.recordings.find(run)

    async def pin(self, run: str, request: CaseRequest) -> PinnedLine:
        options = PinOptions(request.name, request.wrong or None, request.consent)
        try:
            find_path(self._config.evals_folder, request.dataset)
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

    @property
    def rules(self) -> CaseRules:
        folder = str(self._config.evals_folder) if self._writes else None
        return CaseRules(folder, self._config.evals.consent == "required")

    async def list_datasets(self) -> Sequence[DatasetLine]:
        return await asyncio.to_thread(self._list)

    def _list(self) -> Sequence[DatasetLine]:
        folder = self._config.evals_folder
        outcomes = read_outcomes(self._config.server.state_dir / "evals")
        return [describe_dataset(folder, name, outcomes) for name in list_datasets(folder)]


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


def describe_dataset(folder: Path, name: str, outcomes: Mapping[str, CaseSummary]) -> DatasetLine:
    try:
        dataset = read_dataset(folder, name).dataset
    except DatasetError as error:
        return DatasetLine(name, (), error.message)
    found = [(case, outcomes.get(fingerprint_case(dataset, case))) for case in dataset.cases]
    return DatasetLine(name, [describe_case(dataset, case, outcome) for case, outcome in found])


def describe_case(dataset: Dataset, case: Case, outcome: CaseSummary | None) -> CaseLine:
    line = CaseLine(
        name=case.name,
        question=case.turns[0].text[:MAX_QUESTION_CHARS],
        agent=case.agent or dataset.agent,
        thread=case.source.thread if case.source else None,
        run=case.source.run if case.source else None,
        redacted=case.source.redacted if case.source else None,
        scorers=[scorer for spec in (*dataset.scorers, *case.scorers) for scorer in spec],
    )
    if outcome is None:
        return line
    return msgspec.structs.replace(line, outcome=outcome.outcome, flaky=outcome.flaky, at=outcome.at)
