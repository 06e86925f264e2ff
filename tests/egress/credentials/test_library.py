"""A library that blocks: called in a thread, with a deadline, and reported when it is missing."""

import asyncio
import re
import threading

import pytest

from rightseat.core.errors import ConfigError
from rightseat.egress.credentials.library import call_in_thread, require, summarize_error
from rightseat.installation import install_command
from tests.conditions import settle


async def test_the_event_loop_is_not_blocked_by_the_library() -> None:
    done = threading.Event()
    working = asyncio.create_task(call_in_thread(lambda: done.wait(5)))
    await settle()
    done.set()

    assert await working


async def test_an_error_of_the_library_is_raised() -> None:
    def fail() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        await call_in_thread(fail)


@pytest.mark.parametrize("ends", ["deadline", "cancelled"])
async def test_a_hanging_library_call_is_left_in_a_daemon_thread(ends: str) -> None:
    done = threading.Event()
    threads: list[threading.Thread] = []

    def hang() -> None:
        threads.append(threading.current_thread())
        done.wait(10)

    working = asyncio.create_task(call_in_thread(hang, 0.05 if ends == "deadline" else 10))
    if ends == "cancelled":
        await settle()
        working.cancel()
    with pytest.raises(TimeoutError if ends == "deadline" else asyncio.CancelledError):
        await working

    assert threads[0].is_alive()
    assert threads[0].daemon
    done.set()
    await asyncio.to_thread(threads[0].join, 5)
    assert not threads[0].is_alive()


def test_a_package_that_is_missing_is_reported_with_what_to_install() -> None:
    require("msgspec", "Everything", "all")
    for module, package in (("no_such", "no_such"), ("no_such.inside", "no_such-inside")):
        with pytest.raises(
            ConfigError, match=rf"^Everything needs the package {package}, .* {re.escape(install_command('all'))}$"
        ):
            require(module, "Everything", "all")


def test_an_error_is_logged_in_one_line_without_secrets() -> None:
    assert summarize_error(ValueError("not\n good:  canary"), ("", "canary")) == "ValueError: not good: [key]"
