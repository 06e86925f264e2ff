"""Helpers for the libraries of cloud providers, which are optional, block, and raise errors of their own."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from importlib.util import find_spec
from typing import TypeVar

from rightseat.core.errors import ConfigError
from rightseat.egress.redaction import Redactor
from rightseat.installation import install_command

T = TypeVar("T")

FETCH_TIMEOUT_S = 30.0


def require(module: str, what: str, extra: str) -> None:
    """Raises `ConfigError` with the package to install. Checks for the module without importing it."""
    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # its parent package is missing
        found = None
    if found is None:
        package = module.replace(".", "-")
        message = f"{what} needs the package {package}, which is not installed: {install_command(extra)}"
        raise ConfigError(message)


async def call_in_thread(function: Callable[[], T], timeout: float = FETCH_TIMEOUT_S) -> T:  # noqa: ASYNC109
    """Raises the errors of `function`, and `TimeoutError`, after which the thread keeps running.

    The thread is a daemon, because a library may block for long on a program or a server, and a server that shuts down
    would wait for a thread of asyncio's pool.
    """
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # a thread cannot be stopped, so a cancelled caller does not cancel it
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result.set_result(context.run(function))
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, name="credentials", daemon=True).start()
    async with asyncio.timeout(timeout):
        return await asyncio.wrap_future(result)


def summarize_error(error: BaseException, secrets: tuple[str, ...] = ()) -> str:
    return Redactor("[key]", secrets).summarize(f"{type(error).__name__}: {error}")
