"""The parts of a copilot that answer now: built once, opened by the application or by the first request.

A test replaces them by parts whose threads are in memory. Routes that were made before find the new ones, because they
look the endpoint up here for each request.
"""

import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter

from rightseat.app import Assembly, build_router
from rightseat.concurrency import cancel_and_wait
from rightseat.core.errors import ConfigError
from rightseat.file_locks import try_lock
from rightseat.limits.model_doubles import PROCESS_DOUBLES

logger = logging.getLogger(__name__)

NO_LIFESPAN = (
    "The first request opens this copilot, because no lifespan did. Nothing closes it when the application ends. Use "
    "`include_router(copilot.router())`, `FastAPI(lifespan=copilot.lifespan)`, or `copilot.wrap(application)`."
)
MEMORY_WORKERS = (
    "Another process of this application runs beside this one, and each has threads in its own memory: a user finds "
    "them in one of them only. Set `database='postgresql://…'`, or leave `database` out for a file that they share."
)


class Served:
    """An assembly with the routes of its faces."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self._router: APIRouter | None = None

    @property
    def router(self) -> APIRouter:
        if self._router is None:
            self._router = build_router(self.assembly)
        return self._router


class Serving:
    """`build(is_in_memory)` builds an assembly; `prepare` is called before one is opened, and may call `reset`."""

    def __init__(self, build: Callable[[bool], Assembly], prepare: Callable[[], None]) -> None:
        self._build = build
        self._prepare = prepare
        self._own = Served(build(False))
        self._memory: Served | None = None  # of a test of this copilot
        self._shared: tuple[object, Served] | None = None  # of a test of all copilots, with its mark
        self._open: Served | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] | None = None
        self.warns_of_siblings = False

    def reset(self) -> None:
        """Build again, with another configuration."""
        self._own = Served(self._build(False))

    @property
    def current(self) -> Served:
        """What is open, or what would be opened now."""
        if self._open is not None:
            return self._open
        if self._memory is not None:
            return self._memory
        mark = PROCESS_DOUBLES.storage
        if mark is None:
            return self._own
        if self._shared is None or self._shared[0] is not mark:
            self._shared = (mark, Served(self._build(True)))
        return self._shared[1]

    @property
    def is_own(self) -> bool:
        """Whether the configured database is used, and not the memory of a test."""
        return self.current is self._own

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop in which it is open; None if it is not."""
        return self._loop

    @contextmanager
    def in_memory(self) -> Iterator[None]:
        """Raises `ConfigError` while it is open: what is running cannot change its database."""
        if self._open is not None:
            raise ConfigError("This copilot is already open. Override its `database` before the application starts.")
        before, self._memory = self._memory, Served(self._build(True))
        try:
            yield
        finally:
            self._memory = before

    @asynccontextmanager
    async def opened(self, application: object = None) -> AsyncIterator[None]:
        """Raises `ConfigError` if it is open in another application or event loop."""
        await self._end_keeper()
        if self._open is None:
            self._prepare()
        served = self.current
        if served.assembly.opening.is_held_by(application):  # it includes the router twice
            yield
            return
        async with AsyncExitStack() as stack:
            if self.warns_of_siblings and served is self._own:
                stack.enter_context(warn_of_siblings())
            await stack.enter_async_context(served.assembly.opened(application))
            self._open, self._loop = served, asyncio.get_running_loop()
            try:
                yield
            finally:
                self._open = self._loop = None

    async def enter(self) -> Served:
        """What answers a request, which opens it if no lifespan did."""
        if self._open is None or self._loop is not asyncio.get_running_loop():
            await self.keep_open(is_request=True)
        return self.current

    async def keep_open(self, *, is_request: bool = False) -> None:
        """Open it until the event loop ends, or until a lifespan opens it. Raises `ConfigError`."""
        loop = asyncio.get_running_loop()
        if self._open is not None:
            if self._loop is not loop:
                raise ConfigError("This copilot is already open in another event loop. Use `copilot.ask`.")
            return
        if self._keeper is None or self._keeper.done() or self._keeper.get_loop() is not loop or self._ready is None:
            if is_request:
                logger.warning(NO_LIFESPAN)
            self._ready = loop.create_future()
            self._keeper = loop.create_task(self._hold(self._ready))
        await asyncio.shield(self._ready)

    async def _hold(self, ready: "asyncio.Future[None]") -> None:
        try:
            async with self._open_kept():
                if not ready.done():
                    ready.set_result(None)
                await asyncio.Event().wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    @asynccontextmanager
    async def _open_kept(self) -> AsyncIterator[None]:
        self._prepare()
        served = self.current
        async with served.assembly.opened():
            self._open, self._loop = served, asyncio.get_running_loop()
            try:
                yield
            finally:
                self._open = self._loop = None

    async def _end_keeper(self) -> None:
        keeper = self._keeper
        if keeper is None or keeper.done() or keeper.get_loop() is not asyncio.get_running_loop():
            return
        self._keeper = None
        await cancel_and_wait(keeper)


@contextmanager
def warn_of_siblings() -> Iterator[None]:
    """Workers of one server have the same parent process, folder and arguments; the first one holds the lock."""
    about = f"{os.getppid()}\0{Path.cwd()}\0{sys.argv}"
    path = Path(tempfile.gettempdir()) / f"rightseat-{os.getuid()}-{sha256(about.encode()).hexdigest()[:16]}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if try_lock(handle):
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
        elif os.pread(handle, 32, 0) != str(os.getpid()).encode():
            logger.warning(MEMORY_WORKERS)
        yield
    finally:
        os.close(handle)
