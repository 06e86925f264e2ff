"""Predicts an agent's next state from the arguments of a tool call while the model writes them.

An agent's `PredictState` event maps tool arguments to keys of the state. AG-UI clients predict the state themselves;
for GraphQL clients it is done here, so that a document grows on the page while the model writes it.
"""

import json
from typing import Any

from pydantic import JsonValue

PREDICT = "PredictState"


class Predictions:
    """Takes the tool calls of a run and returns predicted values of the state."""

    def __init__(self) -> None:
        self._rules: list[dict[str, Any]] = []
        self._calls: dict[str, tuple[str, str]] = {}  # open calls → tool, arguments so far

    def note(self, name: str, value: JsonValue) -> None:
        if name == PREDICT:
            self._rules = [rule for rule in value if isinstance(rule, dict)] if isinstance(value, list) else []

    def begin(self, call_id: str, tool: str) -> None:
        if any(rule.get("tool") == tool for rule in self._rules):
            self._calls[call_id] = (tool, "")

    def grow(self, call_id: str, pieces: list[str]) -> dict[str, JsonValue]:
        """Return the keys of the state that have a new predicted value."""
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
    """Decode incomplete JSON as far as it is known. Return None if it has no value yet."""
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
