"""Handles request fields that are not decoded: rejects them, warns, or ignores them.

A field that would change the response is never ignored without a warning. Fields that only concern OpenAI's own
service are.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightseat.faces.openai.errors import InvalidRequest

REFUSED = {
    "audio": "This server only returns text: remove `audio`.",
    "function_call": "`function_call` is not supported: send `tool_choice`.",
    "functions": "`functions` is not supported: send `tools`.",
    "grammar": "`grammar` is not supported: use `response_format` or `tools`.",
    "web_search_options": "`web_search_options` is not supported: give the agent a search tool.",
}

HARMLESS = {
    "metadata",
    "prediction",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "stream_options",
    "user",
}
"""Ignored without a warning: the response is the same. `metadata` and `user` are passed to hooks and tools."""

NONE: tuple[bytes, ...] = (b"null", b"{}", b"[]", b"false")


def check(given: Mapping[str, msgspec.Raw], known: frozenset[str]) -> Iterator[str]:
    """A warning for each ignored field. Raises `InvalidRequest` for one that must not be ignored."""
    for name, value in given.items():
        if name in known or name in HARMLESS or bytes(value) == b"null":
            continue
        if name in REFUSED:
            raise InvalidRequest(REFUSED[name], name, "unsupported_parameter")
        if name == "modalities":
            check_modalities(msgspec.json.decode(value))
        elif bytes(value) not in NONE:
            yield f"The field {name[:100]!r} is not supported and was ignored."


def check_modalities(wanted: Any) -> None:
    if wanted != ["text"]:
        raise InvalidRequest("This server only returns text.", "modalities", "unsupported_parameter")


def check_count(n: int | None) -> None:
    if n not in (None, 1):
        raise InvalidRequest("`n` must be 1.", "n", "unsupported_parameter")
