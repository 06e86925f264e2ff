"""Splits the reasoning of a model into complete lines or sentences, which Workspace shows as statuses."""

MAX_STEP_CHARS = 400
MIN_SENTENCE_CHARS = 40
"""A shorter sentence is joined with the next one of its line."""


class ReasoningSplitter:
    """Takes chunks of text and returns complete steps. It never blocks."""

    def __init__(self) -> None:
        self._buffer = ""

    def feed(self, text: str) -> list[str]:
        self._buffer += text
        steps = []
        while (place := find_step_end(self._buffer)) is not None:
            steps.append(self._buffer[:place].strip())
            self._buffer = self._buffer[place:]
        return [step for step in steps if step]

    def end(self) -> list[str]:
        rest, self._buffer = self._buffer.strip(), ""
        return [rest] if rest else []


def find_step_end(text: str) -> int | None:
    """The end of the first step: at the end of a line or sentence, or at the maximum length."""
    line = text.find("\n", 0, MAX_STEP_CHARS)
    for stop in (". ", "! ", "? "):
        place = text.find(stop, MIN_SENTENCE_CHARS, MAX_STEP_CHARS if line < 0 else line)
        if place >= 0:
            line = place + 1 if line < 0 else min(line, place + 1)
    if line >= 0:
        return line + 1
    if len(text) < MAX_STEP_CHARS:
        return None
    space = text.rfind(" ", MIN_SENTENCE_CHARS, MAX_STEP_CHARS)
    return MAX_STEP_CHARS if space < 0 else space + 1
