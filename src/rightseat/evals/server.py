"""Pins runs for the operator face of a server."""

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from rightseat.config import Config
from rightseat.core.errors import BadRequest
from rightseat.core.log import Log
from rightseat.evals.dataset import append_case, find_path, list_datasets, read_dataset
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.pinning import Pinner, build_pinner
from rightseat.evals.recording import PinnedCase, PinOptions
from rightseat.evals.sources import Sources
from rightseat.operations.evals import CaseLine, CaseRequest, DatasetLine, Evals, PinnedLine
from rightseat.operations.recordings import RunRecording
from rightseat.operations.store import Store


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
            pinned = await self._pinner.build(run, options)
            append = self._append if self._writes else self._offer
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

    async def list_datasets(self) -> Sequence[DatasetLine]:
        return await asyncio.to_thread(self._list)

    def _list(self) -> Sequence[DatasetLine]:
        folder = self._config.evals_folder
        return [describe_dataset(folder, name) for name in list_datasets(folder)]


def describe(request: CaseRequest, pinned: PinnedCase) -> PinnedLine:
    return PinnedLine(
        dataset=request.dataset,
        name=pinned.case.name,
        turns=pinned.turns,
        recorded=len(pinned.case.recorded),
        redacted=pinned.redacted,
        notes=pinned.notes,
    )


def describe_dataset(folder: Path, name: str) -> DatasetLine:
    try:
        cases = read_dataset(folder, name).dataset.cases
    except DatasetError as error:
        return DatasetLine(name, (), error.message)
    sources = [(case, case.source) for case in cases]
    return DatasetLine(
        name,
        [CaseLine(case.name, case.agent, *((one.run, one.redacted) if one else (None, None))) for case, one in sources],
    )
