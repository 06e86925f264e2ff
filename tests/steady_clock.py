"""An event loop whose clock stands still while this process gets no processor time.

For tests of timeouts whose other side runs in the same loop: on a busy machine both are late, and neither is too late
for the other. `advance_clock` is for waits in which nothing happens.
"""

import asyncio
import selectors

MAX_STEP_S = 0.01
"""The clock goes on by no more than this between two looks at it. An idle loop looks that often."""


class SteadyLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._seen_at = self._now = 0.0
        super().__init__(OftenWaking())

    def time(self) -> float:
        before, self._seen_at = self._seen_at, super().time()
        self._now += min(self._seen_at - before, MAX_STEP_S)
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds


class OftenWaking(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(MAX_STEP_S if timeout is None else min(timeout, MAX_STEP_S))


def advance_clock(seconds: float) -> None:
    """Of the running loop, which is a `SteadyLoop`."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SteadyLoop)
    loop.advance(seconds)
