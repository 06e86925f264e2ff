"""What Redis's answers mean."""

from collections.abc import Sequence
from typing import Any, cast

from redis.exceptions import ResponseError

from rightseat.core.log import position as read_position
from rightseat.logs.keeper import Away, Top
from rightseat.logs.pieces import START, Kind, Piece
from rightseat.logs.redis.line import Reply

NOT_ABOVE = "equal or smaller"  # in its refusal of an id


def check(reply: Reply) -> None:
    """Raise what is no answer; that an id is not above the others is one."""
    if isinstance(reply, ResponseError) and NOT_ABOVE not in str(reply):
        raise Away(str(reply))


def read_added(reply: Reply) -> Top:
    """The new top; `START` where it was refused."""
    check(reply)
    if isinstance(reply, ResponseError):
        return START
    return read_position(reply.decode()) if reply else None


def read_pieces(reply: Sequence[Any]) -> list[Piece]:
    return [
        Piece(read_position(id.decode()), cast(Kind, fields[0].decode()), fields[1]) for id, fields in reply if fields
    ]


def read_info(reply: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in reply.decode().splitlines() if not line.startswith("#"))
    return {name: value for name, _, value in lines if name}
