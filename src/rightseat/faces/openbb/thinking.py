"""What a reasoning model thinks, in steps that Workspace can show: whole lines or sentences, none too long.

Text is fed in pieces; a step is given when it is whole.
"""

LONGEST = 400
SHORTEST = 40
"""A sentence that is shorter waits for the next one of its line."""


class Thoughts:
    """Never waits: feed it, take its steps."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> list[str]:
        self._held += text
        steps = []
        while (place := end_of_step(self._held)) is not None:
            steps.append(self._held[:place].strip())
            self._held = self._held[place:]
        return [step for step in steps if step]

    def end(self) -> list[str]:
        rest, self._held = self._held.strip(), ""
        return [rest] if rest else []


def end_of_step(text: str) -> int | None:
    """Where the first whole step ends: at a line's end, at a sentence's end, or where it has become too long."""
    line = text.find("\n", 0, LONGEST)
    for stop in (". ", "! ", "? "):
        place = text.find(stop, SHORTEST, LONGEST if line < 0 else line)
        if place >= 0:
            line = place + 1 if line < 0 else min(line, place + 1)
    if line >= 0:
        return line + 1
    if len(text) < LONGEST:
        return None
    space = text.rfind(" ", SHORTEST, LONGEST)
    return LONGEST if space < 0 else space + 1
