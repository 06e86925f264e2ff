"""As the first process of a container, where a signal that nobody handles does nothing at all.

The kernel gives process 1 no default action. Without a handler, a `SIGTERM` while the modules of a verb are still being
read would be lost: the server would go on to start, and be killed in the middle of its runs when its time is over.
Only the first fraction of a second stays deaf, until Python itself and this file are read.
"""

import os
import signal
from types import FrameType
from typing import NoReturn


class Terminated(SystemExit):
    """`SIGTERM`, outside of a server that ends in good order. The code is the one that shells give it."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


def heed_the_end() -> None:
    """Elsewhere the default is as good, and also ends what Python does not interrupt."""
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
