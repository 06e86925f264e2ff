"""A head that another server has read to its end is refused all the same."""

import pytest
from starlette.types import Scope

from rightseat.access.request_limits import MAX_HEAD_BYTES, check_head
from rightseat.core.errors import HeadersTooLarge, UrlTooLong


def scope(*headers: tuple[bytes, bytes], path: str = "/", query: bytes = b"") -> Scope:
    return {"type": "http", "path": path, "raw_path": path.encode(), "query_string": query, "headers": headers}


def test_an_ordinary_request_head_is_accepted() -> None:
    check_head(scope((b"host", b"localhost"), (b"cookie", b"a" * 16_000), path="/v1/models"))


def test_headers_over_the_size_limit_are_refused() -> None:
    with pytest.raises(HeadersTooLarge, match=r"the limit is 32,768"):
        check_head(scope(*[(b"x", b"a" * 1000)] * 33))


def test_an_oversized_request_target_is_refused_as_url_too_long() -> None:
    with pytest.raises(UrlTooLong):
        check_head(scope(path="/" + "a" * 20_000, query=b"b" * (MAX_HEAD_BYTES - 20_000)))


def test_a_scope_without_a_raw_path_is_accepted() -> None:
    check_head({**scope(), "raw_path": None})
