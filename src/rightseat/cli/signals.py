"""Handles SIGTERM as process 1 of a container, where the kernel ignores signals without a handler.

Without it, a SIGTERM while modules are still being imported would be lost: the server would start, and be killed in the
middle of its runs when the container's grace period ends. Only the fraction of a second before this import is left.
"""

import os
import signal
from types import FrameType
from typing import NoReturn


class Terminated(SystemExit):
    """SIGTERM outside of a server, which shuts down gracefully. The exit status is the one that shells report."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


def handle_sigterm() -> None:
    """Other processes keep the default action, which also ends blocking calls that Python does not interrupt."""
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
