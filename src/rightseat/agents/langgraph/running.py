"""What graphs of a server and of this process have in common: the end of a run, and the names of threads."""

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rightseat.agents.keeping import Keeper, decoding
from rightseat.core.ask import Ask
from rightseat.core.events import CallReturned, CallStarted, Event, RunFailed, RunFinished
from rightseat.wire.langgraph import Reader

logger = logging.getLogger(__name__)

FAILED = "The agent failed. The server's log has more."
OURS = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")
THREADS = uuid.UUID("6d1f0c0e-1f0b-5a52-9f43-3a3c54f7a3b1")


def thread_id(ask: Ask) -> str:
    """The graph's name for the thread. Nobody can name the thread of another, whatever id the client sends."""
    return str(uuid.uuid5(THREADS, f"{ask.principal.id}\n{ask.thread_id}"))


def write_config(own: Mapping[str, Any], ask: Ask, *, client_config: bool) -> dict[str, Any]:
    """What the operator says wins over what the client says, where that is heard at all."""
    theirs = dict(ask.config) if client_config else {}
    named = [one for one in (theirs.get("configurable"), own.get("configurable")) if isinstance(one, dict)]
    configurable = {key: value for one in named for key, value in one.items() if key not in OURS}
    return {**theirs, **own, "configurable": configurable}


class Saying:
    """Feed it what a graph streams; take what the run says. Nothing follows once it `is_over`."""

    def __init__(self, ask: Ask, reader: Reader, *, show_errors: bool, redact: Callable[[str], str] = str) -> None:
        self._ask = ask
        self._reader = reader
        self._keeper = Keeper()
        self._show_errors = show_errors
        self._redact = redact
        self._waiting: set[str] = set()  # calls without a result
        self.is_over = False

    def feed(self, mode: str, data: object) -> Iterator[Event]:
        with decoding():
            for event in self._reader.read(mode, data):
                yield from self._say(event)

    def end(self) -> Iterator[Event]:
        for event in self._reader.endings():
            yield from self._say(event)
        asked = tuple(self._reader.asked)
        yield RunFinished("waiting" if asked or self._waiting else "done", asked)

    def _say(self, event: Event) -> Iterator[Event]:
        for kept in self._keeper.keep(event):
            match kept:
                case CallStarted(call_id=id):
                    self._waiting.add(id)
                case CallReturned(call_id=id):
                    self._waiting.discard(id)
                case RunFailed(code=code, message=message):
                    self.is_over = True
                    if not self._show_errors:
                        logger.warning("run %s: the graph failed: %s", self._ask.run_id, self._redact(message))
                        kept = RunFailed(code, FAILED)
            yield kept
