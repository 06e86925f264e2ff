"""Fills templates with the values that a step can use.

For a model, the window is shared by priority: the author's text and the question are never truncated; then data, then
context, then history get the rest (`plugins.expressions.truncation`). External data is marked as untrusted, and the
system prompt includes its description from the plugin's document. Arguments (`fill_argument`) get complete, unmarked
values.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rightseat.core.types import JsonValue
from rightseat.plugins.expressions import paths, templates, truncation
from rightseat.plugins.expressions.templates import Placeholder
from rightseat.plugins.results import StepFailed, StepResult
from rightseat.plugins.scope import Scope

LOW_PRIORITY = ("context", "history")
"""Placeholders that share the bytes that are left after data."""

FIXED_NOTICES = (f"\n{templates.UNTRUSTED_NOTICE}", f"\n{truncation.TRUNCATION_NOTICE}")
"""Notices added to the system prompt if data is marked or truncated. Space is reserved for both."""

NOTES_SHARE = 0.2
"""Share of the remaining bytes for descriptions of the data."""

ERROR_PLACEHOLDERS = ("data", "output", "error.message")
"""Placeholders that hold the error's text in `on_error`, parts of which may come from an API."""


@dataclass(frozen=True, slots=True)
class Prompts:
    system: str
    user: str


def write(system: str, user: str, scope: Scope, *, raw: bool = False, extra_text: str = "") -> Prompts:
    """Write both prompts of a model call. Raises `StepFailed("llm_context")` if the fixed text is too long.

    `raw` omits the marks around data, on the author's request. `extra_text` is sent as well and is not a template.
    """
    values = _PlaceholderValues(scope, raw)
    named = [*templates.find_placeholders(system), *templates.find_placeholders(user)]
    values.share(named, sum(map(truncation.count_bytes, (system, user, extra_text, *FIXED_NOTICES))))
    written = templates.fill(system, values.text), templates.fill(user, values.text)
    notes = [templates.UNTRUSTED_NOTICE] if values.has_marked else []
    notes += [truncation.TRUNCATION_NOTICE] if values.has_cut else []
    notes += values.notes
    return Prompts("\n".join([written[0], *notes]).strip(), written[1])


def fill_argument(value: JsonValue, scope: Scope) -> JsonValue:
    """Fill the placeholders of a fixed argument. A text that is only a placeholder becomes the value itself."""
    if isinstance(value, dict):
        return {name: fill_argument(inner, scope) for name, inner in value.items()}
    if isinstance(value, list):
        return [fill_argument(inner, scope) for inner in value]
    if not isinstance(value, str):
        return value
    found = list(templates.find_placeholders(value))
    if len(found) == 1 and found[0].start == 0 and found[0].end == len(value):
        return resolve_placeholder(found[0], scope) if is_known(found[0], scope) else value
    return templates.fill(value, lambda one: format_placeholder(one, scope))


def format_placeholder(placeholder: Placeholder, scope: Scope) -> str | None:
    return templates.format_value(resolve_placeholder(placeholder, scope)) if is_known(placeholder, scope) else None


def is_known(placeholder: Placeholder, scope: Scope) -> bool:
    """Whether the placeholder has a value; those of errors have one only in `on_error`."""
    return placeholder.kind != "unknown" and (placeholder.kind != "error" or scope.error is not None)


def resolve_placeholder(placeholder: Placeholder, scope: Scope) -> JsonValue:
    """Return the value of a known placeholder."""
    name = placeholder.name
    if placeholder.kind == "step":
        result = scope.steps.get(placeholder.step)
        return None if result is None else paths.get(result.output, placeholder.path)
    if placeholder.kind == "error" and scope.error is not None:
        return {
            "error.message": scope.error.message,
            "error.code": scope.error.code,
            "error.step": scope.error.step,
            "error.status": scope.error.status,
        }[name]
    plain: dict[str, JsonValue] = {
        "question": scope.question,
        "data": scope.data if scope.error is None else scope.error.message,
        "output": scope.data if scope.error is None else scope.error.message,
        "message": last_message(scope.steps),
        "context": format_context(scope),
        "time": format_time(scope),
        "history": format_history(scope),
        "summary": scope.summary,
        "files": ", ".join(file.name for file in scope.files),
    }
    return plain.get(name)


def format_context(scope: Scope) -> str:
    """Return the summary of the conversation and one line per finished step."""
    if scope.context is not None:
        return scope.context
    lines = [scope.summary] if scope.summary else []
    for name, result in scope.steps.items():
        lines.append(f"{name} ({scope.calls.get(name, '')}): {' '.join(result.message.split())}".rstrip())
    return "\n".join(lines)


def format_time(scope: Scope) -> str:
    """`YYYY-MM-DD HH:MM:SS ±hh:mm`."""
    offset = scope.time.strftime("%z") or "+0000"
    return f"{scope.time:%Y-%m-%d %H:%M:%S} {offset[:3]}:{offset[3:5]}"


def format_history(scope: Scope) -> str:
    return "\n".join(f"{role}: {text}" for role, text in scope.history)


def last_message(steps: Mapping[str, StepResult]) -> str:
    return [result.message for result in steps.values()][-1] if steps else ""


def is_external(scope: Scope, step: str) -> bool:
    """Whether the output of the step comes from outside."""
    return bool(step) and step not in scope.trusted


def collect_response_notes(scope: Scope, steps: Iterable[str], max_bytes: int) -> tuple[list[str], int]:
    """Return descriptions of these steps' outputs, within `max_bytes`, and their size in bytes."""
    if scope.error is not None:
        return [], 0
    notes = [f"What the data is: {scope.response_notes[step]}" for step in steps if step in scope.response_notes]
    if not notes:
        return [], 0
    text, _ = truncation.truncate_text("\n".join(dict.fromkeys(notes)), max_bytes)
    return [text], truncation.count_bytes(text)


class _PlaceholderValues:
    """Shares the model's window among the placeholders and holds their texts."""

    def __init__(self, scope: Scope, raw: bool) -> None:
        self._scope = scope
        self._raw = raw
        self._texts: dict[str, str | None] = {}
        self.has_marked = False
        self.has_cut = False
        self.notes: list[str] = []

    def text(self, placeholder: Placeholder) -> str | None:
        return self._texts.get(placeholder.name)

    def share(self, placeholders: list[Placeholder], fixed: int) -> None:
        left = truncation.compute_byte_budget(self._scope.window) - fixed
        counts = Counter(one.name for one in placeholders)
        distinct = {one.name: one for one in placeholders}
        for one in distinct.values():
            if not self._is_long(one) and one.name not in LOW_PRIORITY:
                self._texts[one.name] = format_placeholder(one, self._scope)
                left -= counts[one.name] * truncation.count_bytes(self._texts[one.name] or "")
        if left < 0:
            raise StepFailed("llm_context", "The prompt and the question alone are longer than the model can read.")
        data = [one for one in distinct.values() if self._is_long(one)]
        self.notes, spent = collect_response_notes(self._scope, map(self._step, data), int(left * NOTES_SHARE))
        left -= spent
        waiting = sum(counts[one.name] for one in data)
        for one in data:
            left -= counts[one.name] * self._put(one, left // waiting)
            waiting -= counts[one.name]
        for name in LOW_PRIORITY:
            if name in distinct:
                left -= counts[name] * self._put(distinct[name], left // counts[name])

    def _put(self, placeholder: Placeholder, max_bytes: int) -> int:
        value = resolve_placeholder(placeholder, self._scope)
        source = self._source(placeholder)
        frame = truncation.count_bytes(templates.mark_untrusted("", source)) if source else 0
        text, is_cut = truncation.truncate_value(value, max(0, max_bytes - frame))
        self.has_cut |= is_cut
        if source:
            text = templates.mark_untrusted(text, source)
            self.has_marked = True
        self._texts[placeholder.name] = text
        return truncation.count_bytes(text)

    def _source(self, placeholder: Placeholder) -> str:
        """Return the source if the value has to be marked as external, else an empty string."""
        scope, step = self._scope, self._step(placeholder)
        if self._raw:
            return ""
        if scope.error is not None and placeholder.name in ERROR_PLACEHOLDERS:
            return f"step:{scope.error.step}"
        return f"step:{step}" if is_external(scope, step) else ""

    def _step(self, placeholder: Placeholder) -> str:
        return self._scope.data_from if placeholder.name in ("data", "output") else placeholder.step

    def _is_long(self, placeholder: Placeholder) -> bool:
        is_data = placeholder.kind == "step" or placeholder.name in ERROR_PLACEHOLDERS
        return is_data and is_known(placeholder, self._scope)
