"""What goes between `child` and `worker`.

To the child: a head, a request in msgpack, then a payload in pieces, so that a long text is never copied as a whole. An
empty piece ends it. From the child: a length, and a reply in msgpack.
"""

import struct

import msgspec

from rightseat.core.errors import BadQuery

HEAD = struct.Struct(">Qd")  # before each request: its length, and the seconds it may take
LENGTH = struct.Struct(">Q")  # before each piece, and before each reply


class Reply(msgspec.Struct, array_like=True):
    """`error` is the code of an error of ours, or `fault` where the child's own code failed; `message` says more.

    A child that is `spent` may fail at whatever it is asked next, and is better replaced.
    """

    value: msgspec.Raw = msgspec.Raw(b"\xc0")  # nil
    error: str = ""
    message: str = ""
    spent: bool = False


class Exhausted(BadQuery):
    """The child came to the end of its memory."""
