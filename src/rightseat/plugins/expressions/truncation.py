"""Truncates data that is too long for a model: the result is still JSON and notes what was left out.

Long texts are cut, lists keep their first and last elements, deeply nested objects show only their keys. Only model
prompts are truncated; other steps get the complete data.
"""

import json
from collections.abc import Iterator

from rightseat.core.types import JsonValue

WINDOW_SHARE = 0.8  # of a model's window that its input may fill
BYTES_PER_TOKEN = 3  # a careful estimate: English has four characters to a token, Chinese one of three bytes

TRUNCATION_NOTICE = "Some of the data was too long and was shortened: notes with … inside it say what was left out."
"""Added to the system prompt if data was truncated."""


def compute_byte_budget(window: int) -> int:
    """Return how many bytes of text fit a context window of so many tokens."""
    return int(window * WINDOW_SHARE * BYTES_PER_TOKEN)


def count_bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def truncate_value(value: JsonValue, max_bytes: int) -> tuple[str, bool]:
    """Return the value as text of at most `max_bytes`, and whether it was truncated. A string stays plain text."""
    if isinstance(value, str):
        return truncate_text(value, max_bytes)
    text = to_json(value)
    if count_bytes(text) <= max_bytes:
        return text, False
    for characters, elements, depth in list_scales():
        text = to_json(shrink(value, characters, elements, depth))
        if count_bytes(text) <= max_bytes:
            return text, True
    return to_json("…"), True


def truncate_text(text: str, max_bytes: int) -> tuple[str, bool]:
    encoded = text.encode(errors="surrogatepass")
    if len(encoded) <= max_bytes:
        return text, False
    kept = encoded[: max(0, max_bytes - 60)].decode(errors="ignore")
    note = f"… ({len(text) - len(kept)} more characters)"
    return kept + note if kept else "…", True


def list_scales() -> Iterator[tuple[int, int, int]]:
    """Yield limits from mild to harsh: characters of a text, elements of a list or object, levels."""
    characters, elements, depth = 4000.0, 200.0, 12.0
    while characters > 10:
        yield int(characters), max(2, int(elements)), max(1, int(depth))
        characters, elements, depth = characters * 0.7, elements * 0.7, depth * 0.87


def shrink(value: JsonValue, characters: int, elements: int, depth: int) -> JsonValue:
    if isinstance(value, str) and len(value) > characters:
        return f"{value[:characters]}… ({len(value) - characters} more characters)"
    if isinstance(value, list):
        return shrink_list(value, characters, elements, depth)
    if isinstance(value, dict):
        return shrink_object(value, characters, elements, depth)
    return value


def shrink_list(values: list[JsonValue], characters: int, elements: int, depth: int) -> JsonValue:
    if not depth:
        return f"… (a list of {len(values)})" if values else []
    if len(values) <= elements:
        return [shrink(one, characters, elements, depth - 1) for one in values]
    last = elements // 3
    kept = [*values[: elements - last], *values[len(values) - last :]]
    shown = [shrink(one, characters, elements, depth - 1) for one in kept]
    note = f"… ({len(values) - len(kept)} of {len(values)} elements left out here)"
    return [*shown[: elements - last], note, *shown[elements - last :]]


def shrink_object(values: dict[str, JsonValue], characters: int, elements: int, depth: int) -> JsonValue:
    names = list(values)
    more = len(names) - elements
    if not depth:
        listed = ", ".join(name[:characters] for name in names[:elements])
        return f"… (an object with {listed}{f' and {more} more names' if more > 0 else ''})" if names else {}
    shown = {name[:characters]: shrink(values[name], characters, elements, depth - 1) for name in names[:elements]}
    if more > 0:
        shown["…"] = f"{more} more names left out"
    return shown


def to_json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
