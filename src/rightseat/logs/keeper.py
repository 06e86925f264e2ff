"""The seam to a server that keeps the logs of several processes: small functions, each one exchange with the server."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from rightseat.core.log import Position
from rightseat.logs.pieces import Page, Piece

Top = Position | None
"""The id of a log's last piece; None where there is no such log."""


class Away(Exception):
    """The server does not answer, or cannot do it now. What was asked may have been done, or not."""


class Claim(NamedTuple):
    """`fence` is the piece that shuts out earlier writers, `said` the last entry before it."""

    fence: Position
    said: Position


class Ear(Protocol):
    """Hears what is new in many logs at once."""

    async def hear(self, places: Mapping[str, Position]) -> Mapping[str, Sequence[Piece]]:
        """What comes after those places; waits for it, though not for ever. Only one at a time may call it."""
        ...

    def nudge(self) -> None:
        """There are other places to listen at: `hear` returns soon."""
        ...

    async def close(self) -> None: ...


class Keeper(Protocol):
    """Whatever is asked of it may raise `Away`, and may then be asked again: the same `mark` says that it is the same.

    What it gives to a reader is kept as safely as what it has acknowledged to a writer.
    """

    most: int
    """How many logs one ear can listen to."""

    async def open(self) -> None:
        """Raises `ConfigError`."""
        ...

    async def close(self) -> None: ...

    async def create(self, run_id: str, mark: bytes) -> None:
        """Raises `RunExists`."""
        ...

    async def claim(self, run_id: str, epoch: int, base: int | None, mark: bytes) -> Claim:
        """Raises `StaleWriter`, and without a `base` `RunNotFound`."""
        ...

    async def append(self, pieces: Sequence[tuple[str, Piece]]) -> Sequence[Top]:
        """One piece for each of several logs, in one exchange. Returns their tops: where a piece was refused, the top
        has a higher epoch."""
        ...

    async def tops(self, run_ids: Sequence[str]) -> Sequence[Top]: ...

    async def read(self, run_id: str, after: Position) -> Page:
        """Raises `RunNotFound`, and `EntriesGone` where the log does not reach as far as `after`."""
        ...

    async def forget(self, run_ids: Sequence[str]) -> None: ...

    async def keep_house(self, live: Sequence[str]) -> None:
        """Drop what ended long ago; see to it that these are not dropped."""
        ...

    def ear(self) -> Ear: ...
