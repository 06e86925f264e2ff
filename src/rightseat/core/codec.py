"""Events as JSON: the format of every log.

What is written today must be readable next year: fields may be added with a default, never renamed or removed.
"""

import msgspec

from rightseat.core.errors import UnreadableEvent
from rightseat.core.events import Event

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_several: msgspec.json.Decoder[list[Event]] = msgspec.json.Decoder(list[Event])


def encode(event: Event) -> bytes:
    return _encoder.encode(event)


def decode(data: bytes) -> Event:
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableEvent(str(error)) from error


def decode_all(data: str | bytes) -> list[Event]:
    """Several of them, as a JSON array."""
    try:
        return _several.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableEvent(str(error)) from error
