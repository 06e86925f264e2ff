"""What is on its way to the server: pens put it in, a batch at a time is taken out. Nothing here waits for the server.

A batch has at most one piece for each pen, and a pen's next piece is made when its last one is settled. So what has to
be sent again is sent exactly as it was, and the end of a run never overtakes what it said.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from rightseat.core import codec
from rightseat.core.errors import LogLost, LogUnwritable, RightseatError, StaleWriter
from rightseat.core.events import Event
from rightseat.core.log import Entry, Position
from rightseat.logs.keeper import Top
from rightseat.logs.live import ENDINGS
from rightseat.logs.pieces import Piece
from rightseat.logs.shared import WINDOW, SharedRun


class Pen:
    """The writer of one run under one epoch. `at` is the last of its pieces that the server has.

    Once something could not be kept, it writes nothing more; but the run can still be ended, so that those who follow
    it here are told; what is said to that end is `unkept`. `round` is the last absence of the server after which its
    log was looked at.
    """

    __slots__ = ("_flush", "_outbox", "at", "epoch", "failure", "round", "run", "unkept")

    def __init__(
        self,
        run: SharedRun,
        epoch: int,
        at: Position,
        outbox: "Outbox",
        round: int,
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._flush = flush
        self.run = run
        self.epoch = epoch
        self.at = at
        self.round = round
        self.failure: RightseatError | None = None
        self.unkept: list[Event] = []
        self._outbox = outbox

    async def append(self, event: Event) -> Entry:
        run = self.run
        if self.failure is not None:
            return self._append_unkept(event, self.failure)
        text = codec.encode(event)
        entry = run.next(self.epoch, event)
        self._outbox.put(self, entry, text)
        if entry.seq - run.forgotten > WINDOW and run.is_crowded() and not isinstance(event, ENDINGS):
            await self._wait_for_room()
        return entry

    async def _wait_for_room(self) -> None:
        run = self.run
        while self.failure is None and run.epoch == self.epoch and run.is_crowded():
            await run.wait_for_room(self.epoch)

    async def flush(self) -> None:
        if self.failure is None:
            await self._flush()
        if self.failure is not None:
            raise self.failure

    def keep(self, parcel: "Parcel") -> None:
        """The server has it, so it may be shown; not by one who has left the run, since whoever goes on with it has to
        read from the server what was still on its way."""
        if self.failure is not None:
            return
        run = self.run
        self.at = run.cursor.at = parcel.piece.at
        if parcel.entries:
            run.cursor.said = parcel.piece.at
            for entry in parcel.entries:
                run.show(entry)
        run.let_writer_go()

    def fail(self, failure: RightseatError) -> None:
        """Nobody has seen what could not be kept: its numbers are free again."""
        self.failure = failure
        if self.run.epoch == self.epoch:
            self.run.seq = self.run.shown
        self.run.let_writer_go()

    def _append_unkept(self, event: Event, failure: RightseatError) -> Entry:
        if isinstance(failure, StaleWriter) or not isinstance(event, ENDINGS):
            raise failure
        entry = self.run.next(self.epoch, event)
        self.unkept.append(event)
        self.run.show(entry)
        return entry

    def last_words(self, top: Position) -> list[Piece]:
        """What is still to be written behind the top of its log, once it can be written again."""
        seq = max(top.seq, self.run.cursor.seq)
        words = b"[%b]" % b",".join([codec.encode(event) for event in self.unkept])
        said = Piece(Position(self.epoch, seq + len(self.unkept)), "said", words)
        end = Piece(Position(self.epoch, seq + len(self.unkept) + 1), "end")
        return [said, end] if self.unkept else [end]


@dataclass(slots=True, eq=False)
class Parcel:
    """One piece of one pen. `end` is for who waits for a run's end to be kept."""

    pen: Pen
    piece: Piece
    entries: Sequence[Entry] = ()
    end: "asyncio.Future[None] | None" = None

    @property
    def address(self) -> tuple[str, Piece]:
        return self.pen.run.id, self.piece

    def settle(self, top: Top) -> bool:
        """Whether it came to an end, as the top of its log says: kept, refused, or there is nothing left to add to."""
        pen = self.pen
        if top is None or (top < pen.at and top.epoch <= pen.epoch):
            self.fail(LogLost(pen.run.id, pen.run.shown))
        elif top.epoch > pen.epoch:
            self.fail(StaleWriter(pen.run.id, pen.epoch, top.epoch))
        elif top >= self.piece.at:
            pen.keep(self)
            if self.end and not self.end.done():
                self.end.set_result(None)
        else:
            return False
        return True

    def fail(self, failure: RightseatError) -> None:
        self.pen.fail(failure)
        if self.end and not self.end.done():
            self.end.set_exception(failure)


@dataclass(slots=True)
class Outbox:
    said: dict[Pen, list[tuple[Entry, bytes]]] = field(default_factory=dict)
    ends: "dict[Pen, asyncio.Future[None]]" = field(default_factory=dict)
    filled: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, pen: Pen, entry: Entry, text: bytes) -> None:
        if (said := self.said.get(pen)) is None:
            self.said[pen] = [(entry, text)]
            self.filled.set()
        else:
            said.append((entry, text))

    def put_end(self, pen: Pen) -> "asyncio.Future[None]":
        """Behind all that it has said."""
        end = self.ends[pen] = asyncio.get_running_loop().create_future()
        self.filled.set()
        return end

    def take(self) -> list[Parcel]:
        """All that was said by now, and the ends of those who have nothing more to say."""
        said, self.said = self.said, {}
        parcels = [_parcel(pen, spoken) for pen, spoken in said.items() if pen.failure is None]
        for pen in [pen for pen in self.ends if pen not in said]:
            parcel = _last_parcel(pen, self.ends.pop(pen))
            if pen.failure is None:
                parcels.append(parcel)
            else:
                parcel.fail(pen.failure)
        if not self.ends:
            self.filled.clear()
        return parcels


def _parcel(pen: Pen, spoken: Sequence[tuple[Entry, bytes]]) -> Parcel:
    entries = [entry for entry, _ in spoken]
    content = b"[%b]" % b",".join([text for _, text in spoken])
    return Parcel(pen, Piece(Position(pen.epoch, entries[-1].seq), "said", content), entries)


def _last_parcel(pen: Pen, end: "asyncio.Future[None]") -> Parcel:
    return Parcel(pen, Piece(Position(pen.epoch, pen.run.shown + 1), "end"), end=end)


def unwritable(parcels: Sequence[Parcel], problem: str) -> None:
    for parcel in parcels:
        parcel.fail(LogUnwritable(problem))
