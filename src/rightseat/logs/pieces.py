"""A log as a server keeps it: pieces in the order of their ids, and one who reads them and notices what is missing.

    made    0-1                 the run is known
    fence   <epoch>-0           a writer has taken it over
    base    <epoch>-<base>      it was lost, and begins anew behind this number
    said    <epoch>-<seq>       events, as a JSON array; `seq` is the number of the last of them
    end     <epoch>-<seq + 1>   its writer has left

A piece whose id is not above all others is refused. That is the whole fencing: a stale writer has a lower epoch, and
what is sent twice has the same id.
"""

from collections.abc import Sequence
from typing import Literal, Self

import msgspec

from rightseat.core import codec
from rightseat.core.errors import EntriesGone
from rightseat.core.log import Entry, Position

Kind = Literal["made", "fence", "base", "said", "end"]

START = Position(0, 0)
MADE = Position(0, 1)


class Piece(msgspec.Struct, frozen=True, gc=False):
    """`content` are the events of what was `said`; else a mark by which its writer knows it again."""

    at: Position
    kind: Kind
    content: bytes = b""


class Page(msgspec.Struct, frozen=True, gc=False):
    pieces: Sequence[Piece]
    is_last: bool


class Cursor:
    """Where a reader is: behind the piece `at`, having seen the entry `said`."""

    __slots__ = ("at", "gone", "is_ended", "run_id", "said")

    def __init__(self, run_id: str, at: Position = START, said: Position | None = None) -> None:
        self.run_id = run_id
        self.at = at
        self.said = at if said is None else said
        self.is_ended = False
        self.gone: EntriesGone | None = None

    @property
    def seq(self) -> int:
        return self.said.seq

    def copy(self) -> Self:
        return type(self)(self.run_id, self.at, self.said)

    def read(self, pieces: Sequence[Piece]) -> list[Entry]:
        """The entries in them, as far as they are the next ones. If something is missing, `gone` says so."""
        entries: list[Entry] = []
        for piece in pieces:
            if piece.kind in ("said", "base") and piece.at <= self.said:
                pass  # what was said here was seen before the server acknowledged it
            elif piece.kind == "said":
                self._read_said(piece, entries)
            elif piece.kind == "base":
                self._read_base(piece)
            if self.gone:
                break
            self.is_ended = piece.kind == "end"
            self.at = piece.at
        return entries

    def _read_base(self, piece: Piece) -> None:
        if 0 < piece.at.seq == self.said.seq:
            self.said = piece.at
        else:
            self.gone = EntriesGone(self.run_id, str(piece.at))

    def _read_said(self, piece: Piece, entries: list[Entry]) -> None:
        epoch, last = piece.at
        events = codec.decode_all(piece.content)
        first, seen = last - len(events) + 1, self.said.seq
        is_anew = first <= seen and epoch != self.said.epoch  # a new writer goes on; one that begins has lost the rest
        if is_anew or not first <= seen + 1 <= last:
            self.gone = EntriesGone(self.run_id, f"{epoch}-{first - 1}")
            return
        entries += [Entry(epoch, number, event) for number, event in enumerate(events, first) if number > seen]
        self.said = piece.at


def last_said(pieces: Sequence[Piece]) -> Position | None:
    """Behind which entry the next one comes, if these pieces, the last first, reach back far enough to say it."""
    for piece in pieces:
        match piece.kind:
            case "said" | "base":
                return piece.at
            case "end":
                return Position(piece.at.epoch, piece.at.seq - 1)
            case "made":
                return START
            case "fence":
                continue
    return None
