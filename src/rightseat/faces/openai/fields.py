"""The fields of a request beside those that are read: which are refused, and which are left out with a warning.

Nothing that would change the answer is dropped without a word. What only concerns OpenAI's own service is.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightseat.faces.openai.failures import BadRequest

REFUSED = {
    "audio": "This server answers in text only: leave `audio` out.",
    "function_call": "`function_call` is not taken any more: send `tool_choice`.",
    "functions": "`functions` are not taken any more: send them as `tools`.",
    "grammar": "A grammar of the client's own is not taken. Ask for a form with `response_format` or `tools`.",
    "web_search_options": "This server does not search the web for an answer: give the agent a tool that does.",
}

HARMLESS = {
    "metadata",
    "prediction",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "stream_options",
    "user",
}
"""Left out without a warning: the answer is the same. `metadata` and `user` reach the hooks and tools."""

NONE: tuple[bytes, ...] = (b"null", b"{}", b"[]", b"false")


def check(given: Mapping[str, msgspec.Raw], known: frozenset[str]) -> Iterator[str]:
    """A warning for each field that is left out. Raises `BadRequest` for one that must not be."""
    for name, value in given.items():
        if name in known or name in HARMLESS or bytes(value) == b"null":
            continue
        if name in REFUSED:
            raise BadRequest(REFUSED[name], name, "unsupported_parameter")
        if name == "modalities":
            check_modalities(msgspec.json.decode(value))
        elif bytes(value) not in NONE:
            yield f"The field {name[:100]!r} is not known here, and was left out."


def check_modalities(wanted: Any) -> None:
    if wanted != ["text"]:
        raise BadRequest("This server answers in text only.", "modalities", "unsupported_parameter")


def check_count(n: int | None) -> None:
    if n not in (None, 1):
        raise BadRequest("One answer a request: `n` must be 1.", "n", "unsupported_parameter")
