"""URLs of PostgreSQL with one host and with several."""

import pytest
from sqlalchemy import make_url

from rightseat.core.errors import ConfigError
from rightseat.postgres.addresses import read_url, write_for_sqlalchemy


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+asyncpg", "postgresql+psycopg"])
def test_a_url_may_name_a_driver(scheme: str) -> None:
    assert (
        read_url(f"{scheme}://me@host/name?sslmode=require", "threads") == "postgresql://me@host/name?sslmode=require"
    )


@pytest.mark.parametrize("url", ["mysql://me:hush@host/db", "nonsense hush", "postgresql://"])
def test_another_url_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match=r"`url` of the log should be like postgresql://") as caught:
        read_url(url, "the log")

    assert "hush" not in caught.value.message


def test_one_host_stays_as_it_is_written() -> None:
    url = "postgresql://me:p%40ss@host:6432/name?sslmode=require"

    assert write_for_sqlalchemy(url, "the engine") == url


def test_several_hosts_become_options_that_sqlalchemy_reads() -> None:
    url = "postgresql://me:p%40s,s@one,two:6432/name?target_session_attrs=read-write"
    read = make_url(write_for_sqlalchemy(url, "the engine"))

    assert (read.username, read.password, read.database, read.host) == ("me", "p@s,s", "name", None)
    assert read.query == {"host": ("one:5432", "two:6432"), "target_session_attrs": "read-write"}


def test_several_hosts_with_a_numeric_ipv6_address_are_refused_with_the_cure() -> None:
    with pytest.raises(ConfigError, match=r"IPv6 address, which is not supported\. Write one host, or names"):
        write_for_sqlalchemy("postgresql://me@[::1]:5432,[::2]:5432/name", "the engine")
