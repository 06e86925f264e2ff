"""Pages of item lists: `limit`, `order` and `after`."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from starlette.requests import Request

from rightseat.faces.openai.errors import InvalidRequest
from rightseat.faces.openai.responses.input_items import Item

DEFAULT_LIMIT, MAX_LIMIT = 20, 100


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


def list_page(items: Sequence[Item], query: PageQuery) -> dict[str, Any]:
    """`items` are the oldest first. Raises `InvalidRequest` if `after` is not one of them."""
    ordered = list(items) if query.is_ascending else list(reversed(items))
    if query.after is not None:
        ids = [item["id"] for item in ordered]
        if query.after not in ids:
            raise InvalidRequest(f"after is {query.after[:100]!r}, which is not an item of this list.", "after")
        ordered = ordered[ids.index(query.after) + 1 :]
    data = ordered[: query.limit]
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {
        "object": "list",
        "data": data,
        "first_id": first,
        "last_id": last,
        "has_more": len(ordered) > len(data),
    }
