"""Ends a text before a stop sequence, and remembers which one it was.

Model servers end a response at a stop sequence without saying which, and the protocol has to name it.
"""

from collections.abc import Sequence


class StopWatcher:
    """Text that may be the beginning of a sequence is held back until it is clear that it is none."""

    __slots__ = ("_held", "_sequences", "matched")

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = tuple(sequences)
        self._held = ""
        self.matched: str | None = None

    def feed(self, text: str) -> str:
        """What may be shown. Nothing after a match."""
        if self.matched is not None:
            return ""
        text = self._held + text
        places = [(place, sequence) for sequence in self._sequences if (place := text.find(sequence)) >= 0]
        if places:
            place, self.matched = min(places)
            self._held = ""
            return text[:place]
        held = self._measure_held(text)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def flush(self) -> str:
        """What was held back, at the end of a text."""
        held, self._held = self._held, ""
        return held

    def _measure_held(self, text: str) -> int:
        """The length of the longest end of the text that begins a sequence."""
        longest = max(map(len, self._sequences)) - 1
        for length in range(min(longest, len(text)), 0, -1):
            if any(sequence.startswith(text[-length:]) for sequence in self._sequences):
                return length
        return 0
