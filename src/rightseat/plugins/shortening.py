"""Data that is too long for a model, made shorter: it stays JSON, and says itself what was left out.

Long texts are cut, lists keep their first and last elements, objects far inside show their names. Only what a model
reads is shortened; every other step gets the whole.
"""

import json
from collections.abc import Iterator

from rightseat.core.values import JsonValue

SHARE = 0.8  # of a model's window that its input may fill
BYTES_A_TOKEN = 3  # a careful estimate: English has four characters to a token, Chinese one of three bytes

NOTE = "Some of the data was too long and was shortened: notes with … inside it say what was left out."
"""What a model is told where that happened."""


def room(window: int) -> int:
    """How many bytes of text may be sent to a model that reads so many tokens."""
    return int(window * SHARE * BYTES_A_TOKEN)


def size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def shorten(value: JsonValue, most: int) -> tuple[str, bool]:
    """The value as text of at most so many bytes, and whether something was left out. A text stays plain text."""
    if isinstance(value, str):
        return cut_text(value, most)
    text = dumped(value)
    if size(text) <= most:
        return text, False
    for letters, elements, depth in scales():
        text = dumped(smaller(value, letters, elements, depth))
        if size(text) <= most:
            return text, True
    return dumped("…"), True


def cut_text(text: str, most: int) -> tuple[str, bool]:
    whole = text.encode(errors="surrogatepass")
    if len(whole) <= most:
        return text, False
    kept = whole[: max(0, most - 60)].decode(errors="ignore")
    note = f"… ({len(text) - len(kept)} more characters)"
    return kept + note if kept else "…", True


def scales() -> Iterator[tuple[int, int, int]]:
    """From mild to harsh: letters of a text, elements of a list or object, levels."""
    letters, elements, depth = 4000.0, 200.0, 12.0
    while letters > 10:
        yield int(letters), max(2, int(elements)), max(1, int(depth))
        letters, elements, depth = letters * 0.7, elements * 0.7, depth * 0.87


def smaller(value: JsonValue, letters: int, elements: int, depth: int) -> JsonValue:
    if isinstance(value, str) and len(value) > letters:
        return f"{value[:letters]}… ({len(value) - letters} more characters)"
    if isinstance(value, list):
        return smaller_list(value, letters, elements, depth)
    if isinstance(value, dict):
        return smaller_object(value, letters, elements, depth)
    return value


def smaller_list(values: list[JsonValue], letters: int, elements: int, depth: int) -> JsonValue:
    if not depth:
        return f"… (a list of {len(values)})" if values else []
    if len(values) <= elements:
        return [smaller(one, letters, elements, depth - 1) for one in values]
    last = elements // 3
    kept = [*values[: elements - last], *values[len(values) - last :]]
    shown = [smaller(one, letters, elements, depth - 1) for one in kept]
    note = f"… ({len(values) - len(kept)} of {len(values)} elements left out here)"
    return [*shown[: elements - last], note, *shown[elements - last :]]


def smaller_object(values: dict[str, JsonValue], letters: int, elements: int, depth: int) -> JsonValue:
    names = list(values)
    more = len(names) - elements
    if not depth:
        listed = ", ".join(name[:letters] for name in names[:elements])
        return f"… (an object with {listed}{f' and {more} more names' if more > 0 else ''})" if names else {}
    shown = {name[:letters]: smaller(values[name], letters, elements, depth - 1) for name in names[:elements]}
    if more > 0:
        shown["…"] = f"{more} more names left out"
    return shown


def dumped(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
