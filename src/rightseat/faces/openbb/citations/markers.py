"""Removes the markers that Workspace puts around artifacts and citations: `<|start_citation_id|>…`.

They come back in the history, and models imitate them; so they are removed from requests and from responses. Text may
be split anywhere: it is held only while it may be part of a marker, and removing one marker never creates another.
"""

import re
from dataclasses import dataclass

STARTS = {"<|start_citation_id|>": "citation", "<|start_artifact_id|>": "artifact"}
ENDS = {"<|end_citation_id|>": "citation", "<|end_artifact_id|>": "artifact"}
TOKENS = STARTS.keys() | ENDS.keys()
TOKEN_PREFIXES = {token[:length] for token in TOKENS for length in range(1, len(token))}
MAX_ID_CHARS = 200
ARTIFACT_MARKER = re.compile(r"<\|start_artifact_id\|>([^\n]{1,200}?)<\|end_artifact_id\|>")


def strip_markers(text: str) -> str:
    markers = MarkerFilter()
    return markers.feed(text) + markers.end()


def artifact_names(text: str) -> list[str]:
    """Names of the artifacts in an earlier answer."""
    return ARTIFACT_MARKER.findall(text)


@dataclass(slots=True)
class _Id:
    """Text after a start marker, removed with it if the end marker follows soon enough."""

    kind: str
    text: str = ""


class MarkerFilter:
    """Removes markers from streamed text. It never blocks."""

    def __init__(self) -> None:
        self._held: list[str | _Id] = []  # nested starts of markers, and the ids between them
        self._output: list[str] = []

    @property
    def has_held_text(self) -> bool:
        return bool(self._held)

    def feed(self, text: str) -> str:
        if not self._held:
            place = text.find("<")
            if place < 0:
                return text
            self._output.append(text[:place])
            text = text[place:]
        for character in text:
            self._add(character)
        return self._take_output()

    def end(self) -> str:
        """Return the text held for an end marker that did not come."""
        while any(isinstance(item, _Id) for item in self._held):
            self._drop_id()
        self._output += [item for item in self._held if isinstance(item, str)]
        self._held.clear()
        return self._take_output()

    def _take_output(self) -> str:
        free = "".join(self._output)
        self._output.clear()
        return free

    def _add(self, character: str) -> None:
        last = self._held[-1] if self._held else None
        if isinstance(last, str):
            candidate = last + character
            if candidate in TOKENS:
                self._held.pop()
                self._end_token(candidate)
                return
            if candidate in TOKEN_PREFIXES:
                self._held[-1] = candidate
                return
        if character == "<":
            self._held.append(character)
        elif self._held:
            self._release(character)
        else:
            self._output.append(character)

    def _end_token(self, token: str) -> None:
        if token in STARTS:
            self._held.append(_Id(STARTS[token]))
            return
        for place in range(len(self._held) - 1, -1, -1):
            item = self._held[place]
            if isinstance(item, _Id):
                if item.kind == ENDS[token]:
                    del self._held[place:]
                return

    def _release(self, text: str) -> None:
        """The last held starts are no markers: they are text of the enclosing id, or of the answer."""
        while self._held:
            item = self._held.pop()
            if isinstance(item, _Id):
                item.text += text
                self._held.append(item)
                if len(item.text) > MAX_ID_CHARS or "\n" in item.text:
                    self._drop_id()
                return
            text = item + text
        self._output.append(text)

    def _drop_id(self) -> None:
        """The last id has no end, so it is plain text; with the text before it, it may form a marker."""
        text = ""
        while isinstance(item := self._held.pop(), str):
            text = item + text
        for character in item.text + text:
            self._add(character)
