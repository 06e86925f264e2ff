"""Appends Markdown links and images of a run's files and charts, for clients that only render text.

Other clients can use the event `artifact`, which has the URL too.
"""

import re
from collections.abc import Sequence

from starlette.requests import Request

from rightseat.core.events import Custom, Event, RunFailed, RunFinished, TextDelta, TextEnded, TextStarted
from rightseat.core.log import Entry
from rightseat.core.types import JsonValue
from rightseat.faces._shared.base_url import base_url

MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|~])")
"""Markdown syntax, escaped in file names: those may come from anywhere."""

PRIVATE_FIELDS = ("record", "details")
"""Fields of flow steps for operators only: SQL, requests, error texts of servers."""

EXPANDED_EVENTS = (Custom, RunFinished, RunFailed)
"""`expand` returns all others as they are."""


def files_url(request: Request, path: str) -> str:
    """The absolute URL of the files below `path`: a page may have another origin than its server."""
    return f"{base_url(request)}{path.rstrip('/')}/files"


class ArtifactLinker:
    """Transforms the events of one run for one client. `files_url` is None if the face serves no files.

    It must receive the whole run, so that the last message has all links.
    """

    def __init__(self, files_url: str | None) -> None:
        self._files_url = files_url
        self._lines: dict[str, str] = {}  # by artifact id

    def expand_entries(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Added events have no position in the log, so clients resume at the entry after them."""
        if len(entries) == 1 and type(entries[0].event) is TextDelta:  # nearly every batch of a streamed text
            return entries
        shown: list[Entry] = []
        for entry in entries:
            if type(entry.event) not in EXPANDED_EVENTS:
                shown.append(entry)
                continue
            *before, last = self.expand(entry.event)
            shown += (Entry(entry.epoch, 0, event) for event in before)
            shown.append(entry if last is entry.event else Entry(entry.epoch, entry.seq, last))
        return shown

    def expand(self, event: Event) -> list[Event]:
        """The event itself comes last."""
        match event:
            case Custom(name="artifact", value=dict(artifact)) if artifact.get("id"):
                self._lines[str(artifact["id"])] = write_markdown(artifact, self._files_url)
                return [Custom("artifact", add_url(artifact, self._files_url))]
            case Custom(name="flow.step", value=dict(step)):
                return [Custom("flow.step", remove_private_fields(step))]
            case RunFinished() | RunFailed() if self._lines:
                lines, self._lines = self._lines, {}
                id = f"shown-{next(iter(lines))}"
                return [TextStarted(id), TextDelta(id, "\n\n".join(lines.values())), TextEnded(id), event]
            case _:
                return [event]


def remove_private_fields(step: dict[str, JsonValue]) -> dict[str, JsonValue]:
    about = step.get("value")
    if not isinstance(about, dict):
        return step
    return step | {"value": {name: value for name, value in about.items() if name not in PRIVATE_FIELDS}}


def add_url(artifact: dict[str, JsonValue], base: str | None) -> dict[str, JsonValue]:
    return artifact if base is None else artifact | {"url": f"{base}/{artifact['id']}"}


def write_markdown(artifact: dict[str, JsonValue], base: str | None) -> str:
    name = MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(str(artifact.get("name") or "file").split()))
    if base is None:
        return f"**{name}**"
    address = f"{base}/{artifact['id']}"
    return f"![{name}]({address}.svg)" if artifact.get("kind") == "chart" else f"[{name}]({address})"
