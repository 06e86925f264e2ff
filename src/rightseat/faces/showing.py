"""Files and charts of a run, for clients that know only text: a picture or a link at the end of the answer.

Whoever knows more reads the event `artifact`, which has the address too.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from starlette.requests import HTTPConnection, Request

from rightseat.core.events import Custom, Event, RunFailed, RunFinished, TextDelta, TextEnded, TextStarted
from rightseat.core.log import Entry
from rightseat.core.values import JsonValue

SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|~])")
"""What means something in Markdown. The name of a file may come from anywhere."""

PRIVATE = ("record", "details")
"""What the log keeps of a flow's steps for operators: statements, requests, what a failing server said."""


def base_of(request: Request, path: str) -> str:
    """The whole address of the files below `path`: a page may be of another origin than its server."""
    scope = request.scope
    root = scope.get("app_root_path", scope.get("root_path", ""))
    host = request.headers.get("host")
    return f"{_base(scope['scheme'], host, scope.get('server'), root)}{path.rstrip('/')}/files"


@lru_cache(maxsize=64)
def _base(scheme: str, host: str | None, server: tuple[str, int | None] | None, root: str) -> str:
    """`request.base_url`, which takes a while to make: few clients call a server by many names."""
    headers = [] if host is None else [(b"host", host.encode("latin-1"))]
    scope = {"type": "http", "scheme": scheme, "headers": headers, "server": server, "root_path": root, "path": ""}
    return str(HTTPConnection(scope).base_url).rstrip("/")


class Showing:
    """Stands in front of whatever writes one run for one client. `base` is the address of files; None if it has none.

    Feed it all of the run, so that its last message has everything.
    """

    def __init__(self, base: str | None) -> None:
        self._base = base
        self._lines: dict[str, str] = {}  # by the id of what they show

    def entries(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """What is said beside has no place in the log, so a client cannot come back to it, but to what follows."""
        if len(entries) == 1 and type(entries[0].event) is TextDelta:  # nearly every batch of an answer
            return entries
        shown: list[Entry] = []
        for entry in entries:
            *before, last = self.show(entry.event)
            shown += (Entry(entry.epoch, 0, event) for event in before)
            shown.append(entry if last is entry.event else Entry(entry.epoch, entry.seq, last))
        return shown

    def show(self, event: Event) -> list[Event]:
        """The event itself is the last."""
        match event:
            case Custom(name="artifact", value=dict(artifact)) if artifact.get("id"):
                self._lines[str(artifact["id"])] = markdown(artifact, self._base)
                return [Custom("artifact", addressed(artifact, self._base))]
            case Custom(name="flow.step", value=dict(step)):
                return [Custom("flow.step", public(step))]
            case RunFinished() | RunFailed() if self._lines:
                lines, self._lines = self._lines, {}
                id = f"shown-{next(iter(lines))}"
                return [TextStarted(id), TextDelta(id, "\n\n".join(lines.values())), TextEnded(id), event]
            case _:
                return [event]


def public(step: dict[str, JsonValue]) -> dict[str, JsonValue]:
    about = step.get("value")
    if not isinstance(about, dict):
        return step
    return step | {"value": {name: value for name, value in about.items() if name not in PRIVATE}}


def addressed(artifact: dict[str, JsonValue], base: str | None) -> dict[str, JsonValue]:
    return artifact if base is None else artifact | {"url": f"{base}/{artifact['id']}"}


def markdown(artifact: dict[str, JsonValue], base: str | None) -> str:
    name = SPECIAL.sub(r"\\\1", " ".join(str(artifact.get("name") or "file").split()))
    if base is None:
        return f"**{name}**"
    address = f"{base}/{artifact['id']}"
    return f"![{name}]({address}.svg)" if artifact.get("kind") == "chart" else f"[{name}]({address})"
