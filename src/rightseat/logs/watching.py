"""Copies what other processes write to those who follow it here: one ear for many runs, as many ears as it takes."""

import asyncio
import logging
import math
from collections.abc import Sequence

from rightseat.core.errors import EntriesGone, RunNotFound, UnreadableEvent
from rightseat.logs.keeper import Away, Ear, Keeper, Top
from rightseat.logs.patience import Absence
from rightseat.logs.pieces import Piece
from rightseat.logs.shared import SharedRun

logger = logging.getLogger(__name__)

PAUSE = 0.01  # seconds, at most, between two looks: what is written within them is read together
EACH = 0.0001  # of them for each run that is followed
CHECK = 5.0  # seconds between two looks whether the logs are still there
GRACE = 10.0  # seconds that a log may be missing: its writer may be about to begin it anew
AGAIN = 1.0  # seconds
FOREVER = math.inf  # who follows is not told that the server is away; it waits as for a writer that says nothing


class Watcher:
    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._groups: list[_Group] = []

    def __contains__(self, run_id: str) -> bool:
        return any(run_id in group.runs for group in self._groups)

    def add(self, run: SharedRun) -> None:
        group = next((group for group in self._groups if len(group.runs) < self._keeper.most), None)
        if group is None:
            group = _Group(self._keeper)
            self._groups.append(group)
        group.add(run)

    def remove(self, run_id: str) -> None:
        for group in self._groups:
            group.runs.pop(run_id, None)

    async def close(self) -> None:
        for group in self._groups:
            await group.close()
        self._groups.clear()


class _Group:
    """The runs of one ear."""

    def __init__(self, keeper: Keeper) -> None:
        self.runs: dict[str, SharedRun] = {}
        self._keeper = keeper
        self._ear: Ear = keeper.ear()
        self._filled = asyncio.Event()
        self._absence = Absence("following the log", FOREVER)
        self._missing: dict[str, float] = {}  # since when
        self._tasks = asyncio.create_task(self._listen()), asyncio.create_task(self._look_after())

    def add(self, run: SharedRun) -> None:
        self.runs[run.id] = run
        self._filled.set()
        self._ear.nudge()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await self._ear.close()

    async def _listen(self) -> None:
        time = asyncio.get_running_loop().time
        while True:
            if not self.runs:
                self._filled.clear()
            await self._filled.wait()
            try:
                places = {run.id: run.cursor.at for run in self.runs.values()}
                news = await self._ear.hear(places)
                self._absence.succeeded(time())
            except Away as problem:
                await asyncio.sleep(self._absence.failed(time(), problem) or AGAIN)
                continue
            except Exception:  # whatever it is: those who follow would wait for ever
                logger.exception("the log cannot be followed")
                await asyncio.sleep(AGAIN)
                continue
            for run_id, pieces in news.items():
                run = self.runs.get(run_id)
                if run is not None and run.cursor.at == places[run_id]:  # else it was added anew while we listened
                    self._feed(run, pieces)
            await asyncio.sleep(min(PAUSE, EACH * len(self.runs)))

    def _feed(self, run: SharedRun, pieces: Sequence[Piece]) -> None:
        try:
            run.feed(pieces)
        except UnreadableEvent as error:
            logger.error("run %s cannot be followed any further: %s", run.id, error)
            run.fail(error)
        if run.ended:
            self.runs.pop(run.id, None)

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(CHECK)
            runs = list(self.runs.values())
            try:
                tops = await self._keeper.tops([run.id for run in runs])
            except Away:
                continue  # the ear says so
            now = asyncio.get_running_loop().time()
            for run, top in zip(runs, tops, strict=True):
                if self.runs.get(run.id) is run:
                    self._check(run, top, now)

    def _check(self, run: SharedRun, top: Top, now: float) -> None:
        """A log that is gone, or ends before what was read of it, brings no news: somebody has to say so."""
        if top is not None and top >= run.cursor.at:
            self._missing.pop(run.id, None)
            return
        if now - self._missing.setdefault(run.id, now) < GRACE:
            return
        del self._missing[run.id], self.runs[run.id]
        run.fail(RunNotFound(run.id) if top is None else EntriesGone(run.id, str(top)))
