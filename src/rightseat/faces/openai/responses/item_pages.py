"""Pages of item lists: `limit`, `order` and `after`."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple, Self

from starlette.requests import Request

from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.responses.input_items import Item
from rightseat.wire.json_pieces import measure

DEFAULT_LIMIT, MAX_LIMIT = 20, 100
MAX_PAGE_BYTES = 8 * 2**20
"""A larger item is a page of its own."""


class PageQuery(NamedTuple):
    limit: int
    is_ascending: bool
    after: str | None

    @classmethod
    def read(cls, http: Request) -> Self:
        """Raises `InvalidRequest`."""
        query = http.query_params
        limit, order = query.get("limit", str(DEFAULT_LIMIT)), query.get("order", "desc")
        if not limit.isascii() or not limit.isdecimal() or not 1 <= int(limit[:9]) <= MAX_LIMIT:
            raise InvalidRequest(f"limit is {limit[:20]!r}; it must be a number from 1 to {MAX_LIMIT}.", "limit")
        if order not in ("asc", "desc"):
            raise InvalidRequest(f"order is {order[:20]!r}; it must be 'asc' or 'desc'.", "order")
        return cls(int(limit), order == "asc", query.get("after"))


async def collect_page(items: AsyncIterator[Item], query: PageQuery) -> dict[str, Any]:
    """`items` are in the order of the query; no more of them are read than the page needs.

    Raises `InvalidRequest` if `after` is not one of them. A page of large items may be shorter than its limit.
    """
    data: list[Item] = []
    left, is_before, has_more = MAX_PAGE_BYTES, query.after is not None, False
    async for item in items:
        if is_before:
            is_before = item["id"] != query.after
            continue
        left = measure(item, left)
        if len(data) == query.limit or (data and left < 0):
            has_more = True
            break
        data.append(item)
    if is_before:
        after = str(query.after)[:100]
        raise InvalidRequest(f"after is {after!r}, which is not an item of this list.", "after")
    return write_page(data, has_more=has_more)


def write_page(data: Sequence[Item], *, has_more: bool = False) -> dict[str, Any]:
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": has_more}
