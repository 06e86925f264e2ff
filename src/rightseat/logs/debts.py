"""The ends of runs that could not be written while the server was away.

Who followed such a run in another process would wait for ever. So when the server is back, and nobody has taken the run
over, what its last owner had to say is written behind what there is.
"""

import asyncio
import logging

from rightseat.logs.keeper import Away, Keeper
from rightseat.logs.outbox import Pen
from rightseat.logs.pieces import Piece

logger = logging.getLogger(__name__)

AGAIN = 1.0  # seconds


class Debts:
    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._pens: dict[Pen, list[Piece]] = {}
        self._paying: asyncio.Task[None] | None = None

    def add(self, pen: Pen) -> None:
        self._pens[pen] = []
        if self._paying is None or self._paying.done():
            self._paying = asyncio.create_task(self._pay())

    async def close(self) -> None:
        if self._paying is not None:
            self._paying.cancel()
            await asyncio.wait((self._paying,))
        for pen in self._pens:
            logger.error("run %s has no end in the log: its server did not come back", pen.run.id)

    async def _pay(self) -> None:
        while self._pens:
            await asyncio.sleep(AGAIN)
            try:
                pen, pieces = next(iter(self._pens.items()))
                await self._end(pen, pieces)
                del self._pens[pen]
            except Away:
                continue  # the sender has said so

    async def _end(self, pen: Pen, pieces: list[Piece]) -> None:
        """Whoever took it over, or lost it, has made an end of it already. `pieces` are those that were tried."""
        [top] = await self._keeper.tops([pen.run.id])
        if top is None or top.epoch != pen.epoch:
            return
        pieces[:] = pieces or pen.last_words(top)
        for piece in pieces:
            if piece.at > top:
                await self._keeper.append([(pen.run.id, piece)])
        logger.warning("run %s was ended in the log after the fact", pen.run.id)
