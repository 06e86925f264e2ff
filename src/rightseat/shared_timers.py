"""Timers of many streams that share a few timers of the event loop, each of which takes 0.7 KB.

An object is called at most a sixteenth of its time late, and never early: objects whose times are so close to each
other are called together.
"""

import asyncio
import math
from contextvars import Context
from typing import Protocol


class Timed(Protocol):
    def on_time(self) -> None:
        """Called in an empty context. The event loop reports what it raises."""
        ...


class TimerGroup:
    """Objects that are called together, by one timer of the loop."""

    __slots__ = ("_at", "_groups", "_handle", "_timed")

    def __init__(self, at: float, groups: "dict[float, TimerGroup]", loop: asyncio.AbstractEventLoop) -> None:
        self._at = at
        self._groups = groups
        self._timed: set[Timed] = set()
        self._handle = loop.call_at(at, self._call, context=Context())
        groups[at] = self

    def add(self, timed: Timed) -> None:
        self._timed.add(timed)

    def discard(self, timed: Timed) -> None:
        """Do not call the object, if it was not called yet."""
        self._timed.discard(timed)
        if not self._timed and self._groups.pop(self._at, None) is not None:
            self._handle.cancel()

    def _call(self) -> None:
        self._groups.pop(self._at, None)
        while self._timed:
            timed = self._timed.pop()
            try:
                timed.on_time()
            except Exception as error:  # the other objects are called all the same
                context = {"message": f"{type(timed).__qualname__}.on_time() failed", "exception": error}
                asyncio.get_running_loop().call_exception_handler(context)


class SharedTimers:
    __slots__ = ("_groups", "_loop")

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._groups: dict[float, TimerGroup] = {}

    def add(self, timed: Timed, seconds: float) -> TimerGroup:
        """Call `timed` once, after so many seconds of the running loop."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._groups = loop, {}
        step = math.ldexp(1.0, math.frexp(seconds)[1] - 5)  # between a 32nd and a 16th; a power of two, to be shared
        at = math.ceil((loop.time() + seconds) / step) * step
        group = self._groups.get(at) or TimerGroup(at, self._groups, loop)
        group.add(timed)
        return group
