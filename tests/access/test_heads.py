"""A head that another server has read to its end is refused all the same."""

import pytest
from starlette.types import Scope

from rightseat.access.heads import MAX_HEAD_BYTES, check_head
from rightseat.core.errors import HeadTooLarge, TargetTooLong


def scope(*headers: tuple[bytes, bytes], path: str = "/", query: bytes = b"") -> Scope:
    return {"type": "http", "path": path, "raw_path": path.encode(), "query_string": query, "headers": headers}


def test_an_ordinary_head_passes() -> None:
    check_head(scope((b"host", b"localhost"), (b"cookie", b"a" * 16_000), path="/v1/models"))


def test_headers_that_are_too_long_together_are_refused() -> None:
    with pytest.raises(HeadTooLarge, match=r"at most 32,768 are accepted"):
        check_head(scope(*[(b"x", b"a" * 1000)] * 33))


def test_a_target_that_is_too_long_is_refused_as_one() -> None:
    with pytest.raises(TargetTooLong):
        check_head(scope(path="/" + "a" * 20_000, query=b"b" * (MAX_HEAD_BYTES - 20_000)))


def test_a_server_that_gives_no_raw_path_will_do() -> None:
    check_head({**scope(), "raw_path": None})
