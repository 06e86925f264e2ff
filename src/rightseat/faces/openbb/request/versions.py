"""Detects the protocol version of a request by its shape.

Before 2025 `widgets` was a list, context had its text in `data.content`, a result was an object or text, and a function
call named one `widget_uuid`. A request with neither shape, such as one with only `messages`, gets the default of its
path: at `/v1/query`, which clients of 2024 use, only the two events that both versions know are sent.
"""

from collections.abc import Mapping
from typing import Any

from rightseat.faces.openbb.request.types import ProtocolVersion

NEW_KEYS = frozenset(
    {"api_keys", "skills_catalog", "timezone", "tools", "urls", "workspace_options", "workspace_state"}
)
"""Keys that clients of 2024 do not send."""


def detect(body: Mapping[str, Any], default: ProtocolVersion = "legacy") -> ProtocolVersion:
    """`default` applies to a request with neither shape."""
    widgets = body.get("widgets")
    messages = [message for message in _list(body.get("messages")) if isinstance(message, dict)]
    facts = [fact.get("data") for fact in _list(body.get("context")) if isinstance(fact, dict)]
    if isinstance(widgets, list) or _have(facts, "content") or any(map(_is_old_message, messages)):
        return "legacy"
    if isinstance(widgets, dict) or not NEW_KEYS.isdisjoint(body) or _have(facts, "items"):
        return "new"
    return "new" if any(isinstance(one.get("data"), list) or "agent_id" in one for one in messages) else default


def _have(facts: list[Any], key: str) -> bool:
    return any(isinstance(fact, dict) and key in fact for fact in facts)


def _is_old_message(message: Mapping[str, Any]) -> bool:
    if message.get("role") == "tool":
        return not isinstance(message.get("data"), list)
    content = message.get("content")
    if message.get("role") != "ai" or not isinstance(content, str):
        return False
    return content.startswith('{"function"') and '"widget_uuid"' in content and '"data_sources"' not in content


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
