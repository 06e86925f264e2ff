"""Keeps parts from being opened twice at once: their connections and tasks belong to one event loop."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rightseat.core.errors import ConfigError


class Opening:
    """The parts of one server are open at most once at a time, and may be opened again after they were closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # not of asyncio: each application may have an event loop of its own
        self._application: object = None

    def is_held_by(self, application: object) -> bool:
        """Whether this application has opened the parts. One that includes a router twice runs its lifespan twice."""
        return application is not None and self._application is application

    @contextmanager
    def hold(self, application: object = None) -> Iterator[None]:
        """Raises `ConfigError` while the parts are open."""
        if not self._lock.acquire(blocking=False):
            raise ConfigError(
                "This copilot is already open in another application or program. Close that first, or build a second "
                "`Copilot`."
            )
        self._application = application
        try:
            yield
        finally:
            self._application = None
            self._lock.release()
