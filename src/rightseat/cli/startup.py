"""Around the imports of `rightseat serve`, which take one to two seconds."""

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def blocked_interrupts() -> Iterator[None]:
    """Ctrl-C waits until the end, for imports print a traceback or ignore it. Processes that start inherit this."""
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)


@contextmanager
def paused_gc() -> Iterator[None]:
    """Imports create many objects and no garbage. A server enables the collector as soon as it has started."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
