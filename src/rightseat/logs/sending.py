"""The one task that brings what was said to the server, a few milliseconds' worth at a time.

What is said while it sleeps or waits for an answer becomes the next batch. An entry is shown when the server has
acknowledged it, and not before. While the server is away the batch waits, and those who write more wait behind it;
when it comes back, the tops of the logs say what it has of the batch, and whether it still has what it had before.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from rightseat.logs.keeper import Away, Keeper
from rightseat.logs.outbox import Outbox, Parcel, Pen, unwritable
from rightseat.logs.patience import Absence

logger = logging.getLogger(__name__)

PAUSE = 0.01  # seconds, at most; what is said within them is sent together, and nobody sees the difference
EACH = 0.0004  # of them for each run in the last batch: one alone is shown at once, many wait for each other
BUSY = 0.02  # seconds: batches that follow each other faster than that are better sent together


class Sender:
    def __init__(self, keeper: Keeper, patience: float, settled: Callable[[Pen], None]) -> None:
        """`settled` is told of every pen that can write no more."""
        self.outbox = Outbox()
        self.round = 0  # how often the server has been away
        self._keeper = keeper
        self._absence = Absence("writing the log", patience)
        self._settled = settled
        self._is_sending = False
        self._waiting: list[asyncio.Future[None]] = []  # for the next batch to be settled
        self._task = asyncio.create_task(self._run())

    async def flush(self) -> None:
        """Wait until all that was put in before is kept, or is known not to be."""
        batches = self._is_sending + bool(self.outbox.said)
        for _ in range(batches):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    async def close(self) -> None:
        await self.flush()
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _run(self) -> None:
        time = asyncio.get_running_loop().time
        last = -BUSY
        while True:
            await self.outbox.filled.wait()
            began = time()
            parcels = self.outbox.take()
            self._is_sending = True
            try:
                await self._send(parcels)
            except Exception:  # whatever it is: those who wait must be told, and the task goes on
                logger.exception("the log cannot be written")
                unwritable(parcels, "the server's log says more")
            self._is_sending = False
            self._tell(parcels)
            await asyncio.sleep(PAUSE if began - last < BUSY else min(PAUSE, EACH * len(parcels)))
            last = began

    async def _send(self, parcels: Sequence[Parcel]) -> None:
        """Until each of them is settled."""
        time = asyncio.get_running_loop().time
        while parcels:
            try:
                parcels = await self._attempt(await self._check(parcels))
                self._absence.succeeded(time())
            except Away as problem:
                self.round += 1
                pause = self._absence.failed(time(), problem)
                if pause is None:
                    return unwritable([one for one in parcels if one.pen.failure is None], str(problem))
                await asyncio.sleep(pause)

    async def _check(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """After an absence: what the server has of them already, and whether what it had before is still there."""
        doubtful = [parcel for parcel in parcels if parcel.pen.round != self.round and not is_settled(parcel)]
        if not doubtful:
            return [parcel for parcel in parcels if not is_settled(parcel)]
        tops = await self._keeper.tops([parcel.pen.run.id for parcel in doubtful])
        for parcel, top in zip(doubtful, tops, strict=True):
            parcel.pen.round = self.round
            parcel.settle(top)
        return [parcel for parcel in parcels if not is_settled(parcel)]

    async def _attempt(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        if not parcels:
            return ()
        tops = await self._keeper.append([parcel.address for parcel in parcels])
        return [parcel for parcel, top in zip(parcels, tops, strict=True) if not parcel.settle(top)]

    def _tell(self, parcels: Sequence[Parcel]) -> None:
        for parcel in parcels:
            if parcel.pen.failure is not None:
                self._settled(parcel.pen)
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            with suppress(asyncio.InvalidStateError):  # who waited may have gone
                waiter.set_result(None)


def is_settled(parcel: Parcel) -> bool:
    return parcel.pen.failure is not None or parcel.pen.at >= parcel.piece.at
