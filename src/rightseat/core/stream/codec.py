"""Encodes and decodes events as JSON, the format of every log.

Later versions must be able to read today's logs: fields may be added with a default, never renamed or removed. Today's
version skips events of types that only a later one has: they become `Custom("log.unknown", type)`, which no client
receives, so that the numbers of entries stay the same.
"""

from typing import get_args

import msgspec

from rightseat.core.errors import UnreadableEvent
from rightseat.core.events import Custom, Event

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_several: msgspec.json.Decoder[list[Event]] = msgspec.json.Decoder(list[Event])
_several_raw: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])
_KNOWN_TYPES = frozenset(event.__name__ for event in get_args(Event))

UNKNOWN = "log.unknown"
"""The name of the `Custom` event in place of one whose type this version does not know. Its value is the type."""


class _Tagged(msgspec.Struct):
    type: str


_tag: msgspec.json.Decoder[_Tagged] = msgspec.json.Decoder(_Tagged)


def encode(event: Event) -> bytes:
    return _encoder.encode(event)


def decode(data: bytes) -> Event:
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if unknown := _read_unknown(data):
            return unknown
        raise UnreadableEvent(str(error)) from error


def decode_all(data: str | bytes) -> list[Event]:
    """Decode a JSON array of events."""
    try:
        return _several.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_each(data)


def _decode_each(data: str | bytes) -> list[Event]:
    try:
        return [decode(bytes(raw)) for raw in _several_raw.decode(data)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableEvent(str(error)) from error


def _read_unknown(data: bytes) -> Custom | None:
    """None if the type is known, or if this is not an event."""
    try:
        found = _tag.decode(data).type
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return None if found in _KNOWN_TYPES else Custom(UNKNOWN, found)
