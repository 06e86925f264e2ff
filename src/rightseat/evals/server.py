"""Pins runs for the operator face of a server."""

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from rightseat.config import Config
from rightseat.core.errors import BadRequest
from rightseat.core.events import Event
from rightseat.core.log import KeepsJudgedRuns, Log
from rightseat.core.run.durable import read_all_entries
from rightseat.evals.dataset import append_case, find_path, list_datasets, read_dataset
from rightseat.evals.dataset_errors import DatasetError
from rightseat.evals.pinning import Pinner, build_finders
from rightseat.evals.recording import PinnedCase, PinOptions
from rightseat.evals.sources import Sources
from rightseat.operations.evals import CaseLine, CaseRequest, DatasetLine, Evals, PinnedLine
from rightseat.operations.recordings import RunRecording
from rightseat.operations.store import Store

FileMark = tuple[tuple[int, int], ...]
"""The time of the last change and the size of each file."""


def build(config: Config, store: Store, log: Log) -> Evals | None:
    """None if the store cannot say what a case is made of."""
    if store.records is None or store.recordings is None:
        return None

    async def read(run: str) -> list[Event]:
        return [entry.event for entry in await read_all_entries(log, run)]

    sources = Sources(store.records, store.recordings, store.threads.load, read)
    keeper = log if isinstance(log, KeepsJudgedRuns) else None
    return ServerEvals(config, Pinner(config, sources, build_finders(config), keeper))


class ServerEvals:
    """Pins one run and reads one dataset at a time: both are work for the processor and take memory."""

    def __init__(self, config: Config, pinner: Pinner) -> None:
        self._turn = asyncio.Lock()
        self._known: dict[str, tuple[FileMark, DatasetLine]] = {}
        self._config = config
        self._pinner = pinner
        self._writes = config.evals.folder is not None or config.server.is_local

    async def find_recording(self, run: str) -> RunRecording | None:
        return await self._pinner.sources.recordings.find(run)

    async def pin(self, run: str, request: CaseRequest) -> PinnedLine:
        options = PinOptions(request.name, request.wrong or None, request.consent)
        try:
            find_path(self._config.evals_folder, request.dataset)
            async with self._turn:
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
        async with self._turn:
            return await asyncio.to_thread(self._list)

    def _list(self) -> Sequence[DatasetLine]:
        """Files that have not changed are not read again."""
        folder = self._config.evals_folder
        known, self._known = self._known, {}
        for name in list_datasets(folder):
            mark = mark_files(folder, name)
            before = known.get(name)
            is_unchanged = before is not None and before[0] == mark
            self._known[name] = known[name] if is_unchanged else (mark, describe_dataset(folder, name))
        return [line for _, line in self._known.values()]


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
