"""The protocol between `child` and `worker`.

Request: a header, msgpack, then a payload in chunks (so that a long text is never copied at once) and an empty chunk.
Reply: a length and msgpack.
"""

import struct

import msgspec

from rightseat.core.errors import BadQuery

REQUEST_HEADER = struct.Struct(">Qd")  # before each request: its length, and the seconds it may take
LENGTH = struct.Struct(">Q")  # before each piece, and before each reply


class ChildReply(msgspec.Struct, array_like=True):
    """`error` is the code of a `RightseatError`, or `fault` for an unexpected exception; `message` has details.

    `needs_restart`: the child may fail at the next request and should be replaced.
    """

    value: msgspec.Raw = msgspec.Raw(b"\xc0")  # nil
    error: str = ""
    message: str = ""
    needs_restart: bool = False


class OutOfMemory(BadQuery):
    """The child reached its memory limit."""
