"""The way from a process to a server. Everything takes its time, and some of it never arrives.

A way can be cut for a while. Some connections then break at once; others hang: what was sent on them arrives when the
way is mended, long after the one who sent it has given it up. And at any moment an answer can be lost.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from tests.simulation.clock import Clock, Loop

T = TypeVar("T")

FASTEST, SLOWEST = 0.0005, 0.02  # seconds one way


class Broken(Exception):
    """The connection. What was asked may have been done, or not."""


class Server:
    """Something that is up or down."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.is_up = True
        self.back_at = 0.0
        self.hangs = False
        self.starts = 0
        self.breaks = 0  # so often all connections were closed

    def fail_for(self, seconds: float, *, hangs: bool = False, restarts: bool = True) -> None:
        """It refuses connections, or does not respond; what was sent then arrives when it is back."""
        self.is_up, self.hangs = False, hangs
        self.back_at = max(self.back_at, self.clock.now + seconds)
        self.starts += not hangs and restarts
        self.breaks += not hangs
        self.clock.at(self.back_at, self._come_back)

    def _come_back(self) -> None:
        self.is_up = self.clock.now >= self.back_at


class Exchange(Generic[T]):
    """One question to a server, on its way there and back."""

    def __init__(self, link: "Link", work: Callable[["Exchange[T]"], None]) -> None:
        self.link = link
        self.work = work
        self.future: asyncio.Future[T] = link.loop.create_future()
        self.is_lost = False  # its answer will be

    def arrive(self) -> None:
        if self.link.server.is_up:
            self.work(self)
        elif self.link.server.hangs:
            self.link.clock.at(self.link.server.back_at + self.link.delay(), self.arrive)
        else:
            self.link.clock.after(self.link.delay(), lambda: self.fail("the server is down"))

    def answer(self, value: T) -> None:
        link = self.link
        if self.is_lost or link.cut_until > link.clock.now:
            link.clock.after(link.delay(), lambda: self.fail("the answer was lost"))
        else:
            link.clock.after(link.delay(), lambda: self._take(value))

    def refuse(self, error: BaseException) -> None:
        """The server answers with an error."""
        self.link.clock.after(self.link.delay(), lambda: self._take_error(error))

    def fail(self, why: str) -> None:
        self._take_error(Broken(why))

    def _take(self, value: T) -> None:
        if not self.future.done():
            self.future.set_result(value)

    def _take_error(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Link:
    def __init__(self, loop: Loop, server: Server) -> None:
        self.loop = loop
        self.clock = loop.clock
        self.server = server
        self.cut_until = 0.0
        self.hangs = False
        self.losing = 0.0  # the share of answers that are lost
        self._cuts = 0  # that closed connections

    def cut(self, seconds: float, *, hangs: bool) -> None:
        self.cut_until = max(self.cut_until, self.clock.now + seconds)
        self.hangs = hangs
        self._cuts += not hangs

    @property
    def connection(self) -> tuple[int, int]:
        """Another one after connections were closed."""
        return self._cuts, self.server.breaks

    def delay(self) -> float:
        return self.clock.random.uniform(FASTEST, SLOWEST)

    def ask(self, work: Callable[[Exchange[T]], None]) -> "asyncio.Future[T]":
        """`work` is done where the server is, and answers the exchange. Raises `Broken`."""
        exchange, left = Exchange(self, work), self.cut_until - self.clock.now
        exchange.is_lost = self.losing > 0 and self.clock.random.random() < self.losing
        if left <= 0:
            self.clock.after(self.delay(), exchange.arrive)
        elif self.hangs:
            self.clock.after(left + self.delay(), exchange.arrive)
        else:
            self.clock.after(self.delay(), lambda: exchange.fail("the connection was refused"))
        return exchange.future
