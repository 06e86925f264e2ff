"""Decodes the replies of Redis into records and positions."""

from collections.abc import Sequence
from typing import Any, cast

from redis.exceptions import ResponseError

from rightseat.core.log import position as read_position
from rightseat.logs.redis.connection import Reply
from rightseat.logs.shared.backend import BackendUnavailable, LastPosition
from rightseat.logs.shared.records import START, Record, RecordKind

NOT_ABOVE = "equal or smaller"  # in the error for an id that is not above the last one


def check(reply: Reply) -> None:
    """Raise `BackendUnavailable` for an error, except for an id that is not above the last one."""
    if isinstance(reply, ResponseError) and NOT_ABOVE not in str(reply):
        raise BackendUnavailable(str(reply))


def read_added(reply: Reply) -> LastPosition:
    """The new last position; `START` if the record was refused."""
    check(reply)
    if isinstance(reply, ResponseError):
        return START
    return read_position(reply.decode()) if reply else None


def read_records(reply: Sequence[Any]) -> list[Record]:
    return [
        Record(read_position(id.decode()), cast(RecordKind, fields[0].decode()), fields[1])
        for id, fields in reply
        if fields
    ]


def read_info(reply: bytes) -> dict[str, str]:
    lines = (line.partition(":") for line in reply.decode().splitlines() if not line.startswith("#"))
    return {name: value for name, _, value in lines if name}
