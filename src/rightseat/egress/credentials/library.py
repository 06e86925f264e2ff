"""What the libraries of the clouds have in common: each belongs to an extra, blocks, and fails in its own words."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from importlib.util import find_spec
from typing import TypeVar

from rightseat.core.errors import ConfigError
from rightseat.egress.redaction import Redactor

T = TypeVar("T")

FETCH_TIMEOUT_S = 30.0


def require(module: str, what: str, extra: str) -> None:
    """Raises `ConfigError`, with what to install. Looks for the module without importing it."""
    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # the package that it is in
        found = None
    if found is None:
        package = module.replace(".", "-")
        message = f"{what} needs the package {package}, which is not installed: pip install 'rightseat[{extra}]'"
        raise ConfigError(message)


async def call_in_thread(function: Callable[[], T], timeout: float = FETCH_TIMEOUT_S) -> T:  # noqa: ASYNC109
    """Raises what `function` raises, and `TimeoutError`; then its thread goes on alone.

    The thread is a daemon: a server that stops would wait for a thread of asyncio's, and a library may wait long for a
    program or a server of its own.
    """
    result: Future[T] = Future()
    result.set_running_or_notify_cancel()  # so that a caller who is cancelled does not cancel what cannot be stopped
    context = contextvars.copy_context()

    def run() -> None:
        try:
            result.set_result(context.run(function))
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, name="credentials", daemon=True).start()
    async with asyncio.timeout(timeout):
        return await asyncio.wrap_future(result)


def in_one_line(error: BaseException, secrets: tuple[str, ...] = ()) -> str:
    return Redactor("[key]", secrets).summary(f"{type(error).__name__}: {error}")
