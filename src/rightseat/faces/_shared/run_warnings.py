"""Warnings of a run for OpenAI's clients: their texts, and the response header with them, a JSON array in ASCII."""

import json
from collections.abc import Sequence

from rightseat.core.types import JsonValue

NAME = "x-rightseat-warnings"
MAX_HEADER_CHARS = 3000  # clients and proxies refuse larger response heads


def describe_warning(name: str, value: JsonValue) -> str | None:
    """The warning of a `Custom` event, or None if it is none."""
    match name, value:
        case "model.warning", _:
            return str(value)
        case "tools.unavailable", _:
            return f"Some tools are not available. {value}"
        case "guard.messages_removed", list(removed):
            plural = "s" if len(removed) > 1 else ""
            return f"A guard removed {len(removed)} earlier message{plural} from the conversation."
        case "tools.shadowed", list(names):
            listed = ", ".join(map(repr, names))
            return f"The agent has tools of these names, so the client's are ignored: {listed}."
    return None


def warnings_header(warnings: Sequence[str]) -> dict[str, str]:
    """Empty without warnings. Warnings beyond the limit are only in the body."""
    kept: list[str] = []
    for number, warning in enumerate(warnings):
        if len(json.dumps([*kept, warning])) > MAX_HEADER_CHARS:
            kept.append(f"{len(warnings) - number} more in the body")
            break
        kept.append(warning)
    return {NAME: json.dumps(kept)} if kept else {}
