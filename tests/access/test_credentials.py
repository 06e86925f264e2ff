"""Where a request carries its credential."""

import pytest
from starlette.datastructures import Headers

from rightseat.access import credentials
from rightseat.core.errors import Unauthenticated


def headers(*lines: tuple[str, str]) -> Headers:
    return Headers(raw=[(name.lower().encode(), value.encode("latin-1")) for name, value in lines])


@pytest.mark.parametrize(
    "line",
    [
        ("Authorization", "Bearer key-alice"),
        ("Authorization", "bearer   key-alice "),
        ("X-Api-Key", "key-alice"),
        ("X-API-KEY", " key-alice "),
        ("Cookie", "session=key-alice"),
        ("Cookie", 'theme=dark; session="key-alice"; x=y'),
    ],
)
def test_every_carrier_yields_the_same_credential(line: tuple[str, str]) -> None:
    assert credentials.read(headers(line), "session") == "key-alice"


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [("Authorization", "")],
        [("Authorization", "Bearer")],
        [("Authorization", "Bearer ")],
        [("Authorization", "Basic key-alice")],
        [("Authorization", "key-alice")],
        [("X-Api-Key", "")],
        [("X-Api-Key", "  ")],
        [("Cookie", "session=")],
        [("Cookie", "session")],
        [("Cookie", "sessions=key-alice; Session=key-alice; xsession=key-alice")],
        [("X-Api-Keys", "key-alice")],
    ],
)
def test_a_request_without_a_credential_is_refused(lines: list[tuple[str, str]]) -> None:
    with pytest.raises(Unauthenticated, match="Authentication required"):
        credentials.read(headers(*lines), "session")


def test_a_cookie_is_ignored_unless_configured() -> None:
    with pytest.raises(Unauthenticated, match="Authentication required"):
        credentials.read(headers(("Cookie", "session=key-alice; None=key-alice; =key-alice")), None)


def test_the_same_credential_twice_is_accepted() -> None:
    twice = headers(("Authorization", "Bearer key-alice"), ("X-Api-Key", "key-alice"), ("Cookie", "session=key-alice"))

    assert credentials.read(twice, "session") == "key-alice"


@pytest.mark.parametrize(
    "lines",
    [
        [("Authorization", "Bearer one"), ("X-Api-Key", "two")],
        [("X-Api-Key", "one"), ("Cookie", "session=two")],
        [("Authorization", "Bearer one"), ("Cookie", "session=two")],
        [("Authorization", "Bearer one"), ("Authorization", "Bearer two")],
        [("X-Api-Key", "one"), ("X-Api-Key", "two")],
        [("Cookie", "session=one; session=two")],
        [("Cookie", "session=one"), ("Cookie", "session=two")],
    ],
)
def test_two_different_credentials_are_refused_in_any_order(lines: list[tuple[str, str]]) -> None:
    for order in (lines, lines[::-1]):
        with pytest.raises(Unauthenticated, match="two different credentials"):
            credentials.read(headers(*order), "session")


def test_an_oversized_credential_is_refused() -> None:
    with pytest.raises(Unauthenticated, match="too long"):
        credentials.read(headers(("X-Api-Key", "x" * 20_000)), None)
