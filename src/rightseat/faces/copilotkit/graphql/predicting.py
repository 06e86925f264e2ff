"""State that an agent has not reached yet, but is writing: the arguments of a call that will become it.

An agent says with `PredictState` which tool's argument becomes which key of the state. Clients of AG-UI work it out
themselves; for these it is worked out here, so that a document grows on the page while the model writes it.
"""

import json
from typing import Any

from pydantic import JsonValue

PREDICT = "PredictState"


class Predictions:
    """Feed it the calls of a run; it says what to put over the state."""

    def __init__(self) -> None:
        self._rules: list[dict[str, Any]] = []
        self._calls: dict[str, tuple[str, str]] = {}  # that are open: their tool, and their arguments by now

    def note(self, name: str, value: JsonValue) -> None:
        if name == PREDICT:
            self._rules = [rule for rule in value if isinstance(rule, dict)] if isinstance(value, list) else []

    def begin(self, call_id: str, tool: str) -> None:
        if any(rule.get("tool") == tool for rule in self._rules):
            self._calls[call_id] = (tool, "")

    def grow(self, call_id: str, pieces: list[str]) -> dict[str, JsonValue]:
        """The keys of the state that are known better now."""
        if call_id not in self._calls:
            return {}
        tool, text = self._calls[call_id]
        text += "".join(pieces)
        self._calls[call_id] = (tool, text)
        arguments = completed(text)
        if not isinstance(arguments, dict):
            return {}
        found: dict[str, JsonValue] = {}
        for rule in self._rules:
            key, wanted = rule.get("state_key"), rule.get("tool_argument")
            if rule.get("tool") != tool or not isinstance(key, str):
                continue
            if wanted is None:
                found[key] = arguments
            elif wanted in arguments:
                found[key] = arguments[wanted]
        return found


def completed(text: str) -> Any:
    """The JSON value that begins like this, as far as it is known; None where nothing can be said of it yet."""
    closers, is_text, is_escaped = "", False, False
    for character in text:
        if is_text:
            is_text = is_escaped or character != '"'
            is_escaped = not is_escaped and character == "\\"
        elif character == '"':
            is_text = True
        elif character in "{[":
            closers = ("}" if character == "{" else "]") + closers
        elif character in "}]":
            closers = closers[1:]
    head = text[:-1] if is_escaped else text
    for end in ('"' + closers,) if is_text else (closers, "null" + closers):
        try:
            return json.loads(head.rstrip().rstrip(",") + end if not is_text else head + end)
        except (ValueError, RecursionError):
            continue
    return None
