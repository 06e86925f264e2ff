"""Templates, filled with what a step can see.

For a model, in the order of importance: the author's own words and the question are always whole; then data, then
context, then history get what is left of the window (`plugins.shortening`). What came from outside is marked as data,
and the system prompt says what the plugin's document says of it.
For anything else (`argument`) values go in whole and unmarked.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rightseat.core.values import JsonValue
from rightseat.plugins import paths, shortening, templates
from rightseat.plugins.call_types import call_types
from rightseat.plugins.results import Result, StepFailed
from rightseat.plugins.scene import Scene
from rightseat.plugins.templates import Placeholder

LATER = ("context", "history")
"""What gets the rest of the room, when data has had its share."""

FIXED_NOTES = (f"\n{templates.UNTRUSTED}", f"\n{shortening.NOTE}")
"""What is added to the system prompt where data is marked or shortened. Room is kept for both."""

NOTES_SHARE = 0.2
"""Of the room that is left, for what documents say of the data."""

OF_ERROR = ("data", "output", "error.message")
"""What is the text of the error in `on_error`: an API may have written a part of it."""


@dataclass(frozen=True, slots=True)
class Prompts:
    system: str
    user: str
    was_shortened: bool = False


def write(system: str, user: str, scene: Scene, *, raw: bool = False, beside: str = "") -> Prompts:
    """Both prompts of a call. Raises `StepFailed("llm_context")`: the author's words and the question are too long.

    `raw` leaves out the marks around data, because the author says so. `beside` is text that will be sent as well, and
    is no template.
    """
    filling = _Filling(scene, raw)
    named = [*templates.placeholders(system), *templates.placeholders(user)]
    filling.share(named, sum(map(shortening.size, (system, user, beside, *FIXED_NOTES))))
    written = templates.fill(system, filling.text), templates.fill(user, filling.text)
    notes = [templates.UNTRUSTED] if filling.has_marked else []
    notes += [shortening.NOTE] if filling.has_cut else []
    notes += filling.notes
    return Prompts("\n".join([written[0], *notes]).strip(), written[1], filling.has_cut)


def argument(value: JsonValue, scene: Scene) -> JsonValue:
    """A fixed argument with its placeholders filled. One that is nothing but a placeholder becomes the value itself."""
    if isinstance(value, dict):
        return {name: argument(inner, scene) for name, inner in value.items()}
    if isinstance(value, list):
        return [argument(inner, scene) for inner in value]
    if not isinstance(value, str):
        return value
    found = list(templates.placeholders(value))
    if len(found) == 1 and found[0].start == 0 and found[0].end == len(value):
        return value_of(found[0], scene) if is_known(found[0], scene) else value
    return templates.fill(value, lambda one: known(one, scene))


def known(placeholder: Placeholder, scene: Scene) -> str | None:
    return templates.written(value_of(placeholder, scene)) if is_known(placeholder, scene) else None


def is_known(placeholder: Placeholder, scene: Scene) -> bool:
    """Is there such a thing here? Errors are there in `on_error` only."""
    return placeholder.kind != "unknown" and (placeholder.kind != "error" or scene.error is not None)


def value_of(placeholder: Placeholder, scene: Scene) -> JsonValue:
    """What a placeholder that is known stands for."""
    name = placeholder.name
    if placeholder.kind == "step":
        result = scene.steps.get(placeholder.step)
        return None if result is None else paths.get(result.output, placeholder.path)
    if placeholder.kind == "error" and scene.error is not None:
        return {
            "error.message": scene.error.message,
            "error.code": scene.error.code,
            "error.step": scene.error.step,
            "error.status": scene.error.status,
        }[name]
    plain: dict[str, JsonValue] = {
        "question": scene.question,
        "data": scene.data if scene.error is None else scene.error.message,
        "output": scene.data if scene.error is None else scene.error.message,
        "message": last_message(scene.steps),
        "context": context(scene),
        "time": told_time(scene),
        "history": told_history(scene),
        "summary": scene.summary,
        "files": ", ".join(file.name for file in scene.files),
    }
    return plain.get(name)


def context(scene: Scene) -> str:
    """What happened so far: the summary of the conversation, and a line for each step that is done."""
    if scene.context is not None:
        return scene.context
    lines = [scene.summary] if scene.summary else []
    for name, result in scene.steps.items():
        lines.append(f"{name} ({scene.calls.get(name, '')}): {' '.join(result.message.split())}".rstrip())
    return "\n".join(lines)


def told_time(scene: Scene) -> str:
    """`YYYY-MM-DD HH:MM:SS ±hh:mm`."""
    offset = scene.time.strftime("%z") or "+0000"
    return f"{scene.time:%Y-%m-%d %H:%M:%S} {offset[:3]}:{offset[3:5]}"


def told_history(scene: Scene) -> str:
    return "\n".join(f"{role}: {text}" for role, text in scene.history)


def last_message(steps: Mapping[str, Result]) -> str:
    return [result.message for result in steps.values()][-1] if steps else ""


def is_outside(scene: Scene, step: str) -> bool:
    """Does what the step gave come from elsewhere?"""
    known = call_types().get(scene.calls.get(step, ""))
    return bool(step) and (known is None or known.is_external)


def response_notes(scene: Scene, steps: Iterable[str], most: int) -> tuple[list[str], int]:
    """What documents say of the outputs of these steps, in at most so many bytes, and how many bytes that are."""
    if scene.error is not None:
        return [], 0
    notes = [f"What the data is: {scene.response_notes[step]}" for step in steps if step in scene.response_notes]
    if not notes:
        return [], 0
    text, _ = shortening.cut_text("\n".join(dict.fromkeys(notes)), most)
    return [text], shortening.size(text)


class _Filling:
    """What each placeholder gets, once the room has been shared out."""

    def __init__(self, scene: Scene, raw: bool) -> None:
        self._scene = scene
        self._raw = raw
        self._texts: dict[str, str | None] = {}
        self.has_marked = False
        self.has_cut = False
        self.notes: list[str] = []

    def text(self, placeholder: Placeholder) -> str | None:
        return self._texts.get(placeholder.name)

    def share(self, placeholders: list[Placeholder], fixed: int) -> None:
        left = shortening.room(self._scene.window) - fixed
        counts = Counter(one.name for one in placeholders)
        distinct = {one.name: one for one in placeholders}
        for one in distinct.values():
            if not self._is_long(one) and one.name not in LATER:
                self._texts[one.name] = known(one, self._scene)
                left -= counts[one.name] * shortening.size(self._texts[one.name] or "")
        if left < 0:
            raise StepFailed("llm_context", "The prompt and the question alone are longer than the model can read.")
        data = [one for one in distinct.values() if self._is_long(one)]
        self.notes, spent = response_notes(self._scene, map(self._step, data), int(left * NOTES_SHARE))
        left -= spent
        waiting = sum(counts[one.name] for one in data)
        for one in data:
            left -= counts[one.name] * self._put(one, left // waiting)
            waiting -= counts[one.name]
        for name in LATER:
            if name in distinct:
                left -= counts[name] * self._put(distinct[name], left // counts[name])

    def _put(self, placeholder: Placeholder, most: int) -> int:
        value = value_of(placeholder, self._scene)
        source = self._source(placeholder)
        frame = shortening.size(templates.wrapped("", source)) if source else 0
        text, is_cut = shortening.shorten(value, max(0, most - frame))
        self.has_cut |= is_cut
        if source:
            text = templates.wrapped(text, source)
            self.has_marked = True
        self._texts[placeholder.name] = text
        return shortening.size(text)

    def _source(self, placeholder: Placeholder) -> str:
        """Where it comes from, if it is to be marked."""
        scene, step = self._scene, self._step(placeholder)
        if self._raw:
            return ""
        if scene.error is not None and placeholder.name in OF_ERROR:
            return f"step:{scene.error.step}"
        return f"step:{step}" if is_outside(scene, step) else ""

    def _step(self, placeholder: Placeholder) -> str:
        return self._scene.data_from if placeholder.name in ("data", "output") else placeholder.step

    def _is_long(self, placeholder: Placeholder) -> bool:
        is_told = placeholder.kind == "step" or placeholder.name in OF_ERROR
        return is_told and is_known(placeholder, self._scene)
