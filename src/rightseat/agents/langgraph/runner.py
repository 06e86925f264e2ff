"""Shared by LangGraph graphs on a server and in this process: thread ids, `config`, and the events of a run."""

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rightseat.agents.event_normalizer import EventNormalizer, decoding
from rightseat.core.agent import AgentThread
from rightseat.core.ask import Ask
from rightseat.core.events import Event, RunFailed, RunFinished, ToolCallReturned, ToolCallStarted
from rightseat.wire.langchain import read_messages
from rightseat.wire.langgraph import LangGraphDecoder

logger = logging.getLogger(__name__)

FAILED = "The agent failed. The server's log has more."
OURS = ("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map")
THREADS = uuid.UUID("6d1f0c0e-1f0b-5a52-9f43-3a3c54f7a3b1")


def thread_id(ask: Ask) -> str:
    """The graph's thread id. It depends on the user, so a client cannot reach another user's thread with any id."""
    return str(uuid.uuid5(THREADS, f"{ask.principal.id}\n{ask.thread_id}"))


def write_config(own: Mapping[str, Any], ask: Ask, *, client_config: bool) -> dict[str, Any]:
    """Merge both configurations if `client_config` is set. The operator's values take precedence over the client's."""
    theirs = dict(ask.config) if client_config else {}
    named = [one for one in (theirs.get("configurable"), own.get("configurable")) if isinstance(one, dict)]
    configurable = {key: value for one in named for key, value in one.items() if key not in OURS}
    return {**theirs, **own, "configurable": configurable}


def read_thread(values: Mapping[str, Any]) -> AgentThread | None:
    """The thread of a graph from its values, of which a thread without a run has none."""
    state = {key: value for key, value in values.items() if key not in ("messages", "__interrupt__")}
    return AgentThread(tuple(read_messages(values.get("messages"))), state) if values else None


class GraphRun:
    """Converts the stream of a graph into the events of a run. The caller stops once it `is_over`."""

    def __init__(
        self, ask: Ask, reader: LangGraphDecoder, *, show_errors: bool, redact: Callable[[str], str] = str
    ) -> None:
        self._ask = ask
        self._reader = reader
        self._normalizer = EventNormalizer()
        self._show_errors = show_errors
        self._redact = redact
        self._waiting: set[str] = set()  # calls without a result
        self.is_over = False

    def feed(self, mode: str, data: object) -> Iterator[Event]:
        with decoding():
            for event in self._reader.read(mode, data):
                yield from self._normalize(event)

    def end(self) -> Iterator[Event]:
        for event in self._reader.close():
            yield from self._normalize(event)
        interrupts = tuple(self._reader.interrupts)
        yield RunFinished("waiting" if interrupts or self._waiting else "done", interrupts)

    def _normalize(self, event: Event) -> Iterator[Event]:
        for normalized in self._normalizer.normalize(event):
            match normalized:
                case ToolCallStarted(call_id=id):
                    self._waiting.add(id)
                case ToolCallReturned(call_id=id):
                    self._waiting.discard(id)
                case RunFailed(code=code, message=message):
                    self.is_over = True
                    if not self._show_errors:
                        logger.warning("run %s: the graph failed: %s", self._ask.run_id, self._redact(message))
                        normalized = RunFailed(code, FAILED)
            yield normalized
