"""Encodes large JSON values in pieces, so that no value is in memory twice and other work runs between two pieces."""

import secrets
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import msgspec

PIECE_BYTES = 65_536
NODE_BYTES = 8
"""What a value without text counts at least."""

_encode = msgspec.json.Encoder().encode


def is_large(value: Any) -> bool:
    """Whether the JSON of the value has more than about `PIECE_BYTES`. Looks at no more of it than that."""
    return measure(value, PIECE_BYTES) < 0


def measure(value: Any, budget: int) -> int:
    """The budget without the size of the value; negative if it is larger."""
    if isinstance(value, str):
        return budget - NODE_BYTES - len(value)
    if isinstance(value, dict):
        children: Iterable[Any] = chain.from_iterable(value.items())
    elif isinstance(value, list | tuple):
        children = value
    elif isinstance(value, msgspec.Struct):
        children = (getattr(value, name) for name in value.__struct_fields__)
    else:
        return budget - NODE_BYTES - (len(bytes(value)) if isinstance(value, msgspec.Raw) else 0)
    budget -= NODE_BYTES
    for child in children:
        if budget < 0:
            break
        budget = measure(child, budget)
    return budget


def encode_pieces(value: Any) -> Iterator[bytes]:
    """The JSON of the value, in pieces of about `PIECE_BYTES`."""
    return join_pieces(_encode_parts(value))


def join_pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join short parts. Parts are not split."""
    collected: list[bytes] = []
    size = 0
    for part in parts:
        collected.append(part)
        size += len(part)
        if size >= PIECE_BYTES:
            yield b"".join(collected)
            collected, size = [], 0
    if collected:
        yield b"".join(collected)


def _encode_parts(value: Any) -> Iterator[bytes]:
    if not is_large(value):
        yield _encode(value)
        return
    match value:
        case str():
            yield from _encode_text(value)
        case dict():
            yield from _encode_object(value)
        case list() | tuple():
            yield from _encode_list(value)
        case msgspec.Struct():
            yield from _encode_struct(value)
        case _:
            yield _encode(value)


def _encode_text(text: str) -> Iterator[bytes]:
    yield b'"'
    for start in range(0, len(text), PIECE_BYTES):
        yield _encode(text[start : start + PIECE_BYTES])[1:-1]
    yield b'"'


def _encode_object(values: Mapping[Any, Any]) -> Iterator[bytes]:
    separator = b"{"
    for key, value in values.items():
        yield separator + _encode({key: None}).removeprefix(b"{").removesuffix(b"null}")
        yield from _encode_parts(value)
        separator = b","
    yield b"}" if separator == b"," else b"{}"


def _encode_list(values: Iterable[Any]) -> Iterator[bytes]:
    separator = b"["
    for value in values:
        yield separator
        yield from _encode_parts(value)
        separator = b","
    yield b"]" if separator == b"," else b"[]"


def _encode_struct(value: msgspec.Struct) -> Iterator[bytes]:
    """With placeholders for its large fields, so that msgspec writes names, tags and what is left out."""
    token = secrets.token_hex(16).encode()
    found = {name: getattr(value, name) for name in value.__struct_fields__}
    large = {name: field for name, field in found.items() if is_large(field)}
    if not large:
        yield _encode(value)
        return
    outline = _encode(msgspec.structs.replace(value, **dict.fromkeys(large, msgspec.Raw(b'"%b"' % token))))
    head, *rest = outline.split(b'"%b"' % token)
    yield head
    for field, following in zip(large.values(), rest, strict=True):
        yield from _encode_parts(field)
        yield following
