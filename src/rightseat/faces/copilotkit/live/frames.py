"""Frames of Phoenix 2: JSON arrays `[join_ref, ref, topic, event, payload]`."""

from typing import Any, Literal

import msgspec

MAX_FRAME_BYTES = 65_536
MAX_NAME_CHARS = 512


class PhoenixFrame(msgspec.Struct, frozen=True, array_like=True):
    join_ref: str | None
    ref: str | None
    topic: str
    event: str
    payload: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(PhoenixFrame).decode
_encode = msgspec.json.Encoder().encode


def read_frame(text: str) -> PhoenixFrame | None:
    """None for anything that is no frame."""
    if len(text) > MAX_FRAME_BYTES:
        return None
    try:
        frame = _decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    names = (frame.join_ref or "", frame.ref or "", frame.topic, frame.event)
    return None if any(len(name) > MAX_NAME_CHARS for name in names) else frame


def write_reply(frame: PhoenixFrame, status: Literal["ok", "error"], reason: str | None = None) -> str:
    response = {} if reason is None else {"reason": reason}
    payload = {"status": status, "response": response}
    return _encode([frame.join_ref, frame.ref, frame.topic, "phx_reply", payload]).decode()


def write_event(join_ref: str | None, topic: str, event: str, payload: Any) -> str:
    return _encode([join_ref, None, topic, event, payload]).decode()
