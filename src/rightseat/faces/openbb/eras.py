"""By which rules a request is to be answered: its shape says it, request by request.

Before 2025 `widgets` was a list, context had its text in `data.content`, a result was an object or text, and a function
call named one `widget_uuid`. A request that shows neither shape, such as one with nothing but `messages`, is answered
by its address: at `/v1/query`, which clients of 2024 use, with the two events that clients of both times know.
"""

from collections.abc import Mapping
from typing import Any

from rightseat.faces.openbb.asking import Era

NEW = frozenset({"api_keys", "skills_catalog", "timezone", "tools", "urls", "workspace_options", "workspace_state"})
"""Keys that the clients of 2024 did not send."""


def of(body: Mapping[str, Any], otherwise: Era = "legacy") -> Era:
    """`otherwise` is the era of a request that shows neither shape."""
    widgets = body.get("widgets")
    messages = [message for message in _list(body.get("messages")) if isinstance(message, dict)]
    facts = [fact.get("data") for fact in _list(body.get("context")) if isinstance(fact, dict)]
    if isinstance(widgets, list) or _have(facts, "content") or any(map(_is_old_message, messages)):
        return "legacy"
    if isinstance(widgets, dict) or not NEW.isdisjoint(body) or _have(facts, "items"):
        return "new"
    return "new" if any(isinstance(one.get("data"), list) or "agent_id" in one for one in messages) else otherwise


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
