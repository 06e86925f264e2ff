"""Good input, spoilt: bytes, texts and JSON values, all from one `Random`."""

import copy
import json
from collections.abc import Sequence
from random import Random
from typing import Any

TEXTS = (
    "",
    " ",
    "\0",
    "\x7f\x1b[31m",
    "﻿",
    "‮abc",
    "İı",
    "ﷺ" * 20,
    "é́́́",
    "👩‍👩‍👧‍👦",
    "￿",
    "\U0010ffff",
    "null",
    "true",
    "NaN",
    "-0",
    "1e999",
    "9" * 40,
    "../../etc/passwd",
    "%s%n{0}{x!r}",
    "${secret:X}",
    "<script>alert(1)</script>",
    "'; DROP TABLE x; --",
    "data:text/plain;base64,AA==",
    "data:,",
    "http://[::1",
    "a" * 5_000,
    "\n" * 100,
    "{" * 50,
    '{"a":' * 30,
    "[" * 3_000,
    '"' + "\\" * 999,
    "user",
    "assistant",
    "tool",
    "system",
)
"""Texts at the edges of what readers expect."""

SURROGATES = ("\ud800", "\udfff\ud800")
"""No text, though Python takes it for one: few readers let it in."""

NUMBERS: tuple[int | float, ...] = (
    0,
    -1,
    1,
    2**31,
    -(2**31) - 1,
    2**53 + 1,
    2**63,
    -(2**63) - 1,
    2**64,
    10**30,
    10**400,
    0.5,
    -0.0,
    1e308,
    5e-324,
    float("inf"),
    float("nan"),
)

SCRAPS = (
    *(bytes([number]) for number in (0, 9, 10, 13, 32, 34, 39, 44, 58, 91, 92, 93, 123, 125, 127, 128, 192, 237, 255)),
    b"\r\n",
    b"\r\n\r\n",
    b"\n\n",
    b"data: ",
    b"\\ud800",
    b"\\\\ud800",
    b"\\u0000",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"null",
    b"NaN",
    b"1e999",
    b"[[[[[[[[[[",
    b"[" * 3_000,
    b'{"a":',
    b"--",
)


def mutate_bytes(random: Random, data: bytes, most: int = 6) -> bytes:
    """Flipped, cut, repeated, moved or replaced in up to `most` places."""
    for _ in range(random.randint(1, most)):
        at = random.randint(0, len(data))
        end = min(len(data), at + random.choice((1, 1, 2, 4, 16, 64, 512)))
        match random.randrange(8):
            case 0 if at < len(data):
                data = data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]
            case 1:
                data = data[:at] + data[end:]
            case 2:
                data = data[:at] + data[at:end] * random.choice((2, 2, 3, 50)) + data[end:]
            case 3 if random.random() < 0.3:
                data = data[:at]
            case 4:
                other = random.randint(0, len(data))
                data = data[:at] + data[other : other + end - at] + data[end:]
            case 5:
                data = data[:at] + random.randbytes(end - at) + data[end:]
            case _:
                data = data[:at] + random.choice(SCRAPS) + data[at:]
    return data


def mutate_text(random: Random, text: str, words: Sequence[str] = TEXTS, most: int = 5) -> str:
    """Pieces left out, repeated or moved, and `words` put in."""
    for _ in range(random.randint(1, most)):
        at = random.randint(0, len(text))
        end = min(len(text), at + random.choice((1, 2, 4, 8, 32)))
        match random.randrange(5):
            case 0:
                text = text[:at] + text[end:]
            case 1:
                text = text[:at] + text[at:end] * random.choice((2, 2, 3, 30)) + text[end:]
            case 2:
                other = random.randint(0, len(text))
                text = text[:at] + text[other : other + end - at] + text[end:]
            case _:
                text = text[:at] + random.choice(words) + text[at:]
    return text


def mutate_json(random: Random, value: Any, most: int = 4) -> Any:
    """Types swapped, keys left out, renamed and moved, texts and numbers made odd, in up to `most` places."""
    value = copied(value)
    holder = [value]
    for _ in range(random.randint(1, most)):
        places = list(find_places(holder))
        parent, key = random.choice(places)
        match random.randrange(9):
            case 0 if isinstance(parent, dict):
                del parent[key]
            case 1 if isinstance(parent, dict):
                parent[random.choice((*TEXTS[:20], *known_keys(places)))] = parent.pop(key)
            case 2 if parent is not holder and isinstance(parent, list):
                parent.insert(key, copied(parent[key]))
            case 3:
                other, name = random.choice(places)
                parent[key] = copied(other[name])
            case 4 if isinstance(parent[key], str):
                parent[key] = mutate_text(random, parent[key][:20_000])
            case 5:
                parent[key] = nest(random, parent[key])
            case _:
                parent[key] = make_value(random, 2)
    return holder[0]


def copied(value: Any) -> Any:
    """None for what has become too deep to be handled here."""
    try:
        return copy.deepcopy(value)
    except RecursionError:
        return None


def find_places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a value: the dictionary or list, and the key."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 2_000:
        here = waiting.pop()
        inner = here.items() if isinstance(here, dict) else enumerate(here)
        for key, one in inner:
            found.append((here, key))
            if isinstance(one, dict | list):
                waiting.append(one)
    return found


def known_keys(places: list[tuple[Any, Any]]) -> list[str]:
    return [key for _, key in places[:200] if isinstance(key, str)]


def make_text(random: Random) -> str:
    return random.choice(SURROGATES if random.random() < 0.02 else TEXTS)


def nest(random: Random, value: Any) -> Any:
    for _ in range(random.choice((1, 2, 30, 70, 150))):
        value = [value] if random.random() < 0.5 else {"a": value}
    return value


def make_value(random: Random, depth: int) -> Any:
    match random.randrange(8 if depth else 6):
        case 0:
            return None
        case 1:
            return random.random() < 0.5
        case 2:
            return random.choice(NUMBERS)
        case 3 | 4:
            return make_text(random)
        case 5:
            return random.choice(([], {}, [[]], {"": {}}))
        case 6:
            return [make_value(random, depth - 1) for _ in range(random.randint(1, 4))]
        case _:
            return {make_text(random): make_value(random, depth - 1) for _ in range(random.randint(1, 4))}


def write_json(random: Random, value: Any) -> bytes:
    """Mostly JSON; at times with NaN, lone surrogates as bytes, or a key given twice."""
    try:
        text = json.dumps(value, ensure_ascii=random.random() < 0.5, default=str)
    except RecursionError:
        return b"[" * 2_000
    if random.random() < 0.1 and '":' in text:
        at = text.index('":')
        start = text.rfind('"', 0, at)
        if start >= 0:  # it is not where the value itself is a text that begins with a colon
            text = text[:start] + text[start : at + 2] + " null, " + text[start:]
    return text.encode("utf-8", "surrogatepass")


def split(random: Random, data: bytes) -> list[bytes]:
    """The same bytes in pieces of random sizes."""
    size = random.choice((1, 3, 17, 200, 5_000, len(data) or 1))
    if len(data) / size > 2_000:
        size = len(data) // 2_000 + 1
    return [data[at : at + size] for at in range(0, len(data), size)]
