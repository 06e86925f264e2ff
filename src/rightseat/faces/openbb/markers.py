"""The marks that Workspace leaves in an answer where an artifact or a citation stands: `<|start_citation_id|>…`.

They come back in the history, where models learn to imitate them; so they are taken out on the way in and on the way
out. Text is fed in pieces, cut anywhere. A piece is held back only while it may still turn out to be part of a marker,
and what remains after one was taken out never makes up another.
"""

import re
from dataclasses import dataclass

STARTS = {"<|start_citation_id|>": "citation", "<|start_artifact_id|>": "artifact"}
ENDS = {"<|end_citation_id|>": "citation", "<|end_artifact_id|>": "artifact"}
TOKENS = STARTS.keys() | ENDS.keys()
BEGINNINGS = {token[:length] for token in TOKENS for length in range(1, len(token))}
LONGEST_ID = 200
ARTIFACT = re.compile(r"<\|start_artifact_id\|>([^\n]{1,200}?)<\|end_artifact_id\|>")


def stripped(text: str) -> str:
    markers = Markers()
    return markers.feed(text) + markers.end()


def artifact_names(text: str) -> list[str]:
    """Which artifacts stand in an answer that came back."""
    return ARTIFACT.findall(text)


@dataclass(slots=True)
class _Id:
    """What stands after a start, and goes with it if its end comes soon enough."""

    kind: str
    text: str = ""


class Markers:
    """Takes markers out of a text. Never waits: feed it, take what it gives."""

    def __init__(self) -> None:
        self._held: list[str | _Id] = []  # beginnings of markers, one inside another, and the ids between them
        self._free: list[str] = []

    @property
    def holds(self) -> bool:
        return bool(self._held)

    def feed(self, text: str) -> str:
        if not self._held:
            place = text.find("<")
            if place < 0:
                return text
            self._free.append(text[:place])
            text = text[place:]
        for character in text:
            self._add(character)
        return self._take()

    def end(self) -> str:
        """What was held back for an end that did not come."""
        while any(isinstance(item, _Id) for item in self._held):
            self._drop_id()
        self._free += [item for item in self._held if isinstance(item, str)]
        self._held.clear()
        return self._take()

    def _take(self) -> str:
        free = "".join(self._free)
        self._free.clear()
        return free

    def _add(self, character: str) -> None:
        last = self._held[-1] if self._held else None
        if isinstance(last, str):
            grown = last + character
            if grown in TOKENS:
                self._held.pop()
                self._found(grown)
                return
            if grown in BEGINNINGS:
                self._held[-1] = grown
                return
        if character == "<":
            self._held.append(character)
        elif self._held:
            self._released(character)
        else:
            self._free.append(character)

    def _found(self, token: str) -> None:
        if token in STARTS:
            self._held.append(_Id(STARTS[token]))
            return
        for place in range(len(self._held) - 1, -1, -1):
            item = self._held[place]
            if isinstance(item, _Id):
                if item.kind == ENDS[token]:
                    del self._held[place:]
                return

    def _released(self, text: str) -> None:
        """The beginnings on top were none: they are text, of the id that they stand in or of the answer."""
        while self._held:
            item = self._held.pop()
            if isinstance(item, _Id):
                item.text += text
                self._held.append(item)
                if len(item.text) > LONGEST_ID or "\n" in item.text:
                    self._drop_id()
                return
            text = item + text
        self._free.append(text)

    def _drop_id(self) -> None:
        """The last id has no end, so it is text like any other; with what stood before it, it may be a marker."""
        text = ""
        while isinstance(item := self._held.pop(), str):
            text = item + text
        for character in item.text + text:
            self._add(character)
