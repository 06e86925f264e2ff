"""Fixtures for every test: the event loop's kind, and a real HTTP server."""

import asyncio
import gc
import inspect
import socket
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn
from starlette.types import ASGIApp

from tests import profiles
from tests.gate import plugin as gate

Serve = Callable[[ASGIApp], AbstractAsyncContextManager[str]]
"""`async with serve(app) as url:` runs an application on a free port and ends it again."""

CLIENT_TIMEOUT_S = 60.0
"""How long clients of tests wait that name no timeout: httpx's own 5 s are too short for a busy machine."""

GRACE = 0.2  # seconds that a request has to notice that its client is gone


WHOLE = (
    "access",
    "cli",
    "clients",
    "docs",
    "durability",
    "egress",
    "faces",
    "fuzz",
    "health",
    "models/completion",
    "stores",
)
"""Folders whose tests start servers, databases or processes, and take their time."""


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(gate)
    gate.take_files_in_order(config)
    profiles.load_settings()
    default: httpx2.Timeout = inspect.signature(httpx2.AsyncClient).parameters["timeout"].default
    default.connect = default.read = default.write = default.pool = CLIENT_TIMEOUT_S
    share_certificates()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests stay until the end, so the garbage collector need not look at them, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def share_certificates() -> None:
    """Each client that names no `verify` would read the certificates of all authorities: 70 ms of CPU."""
    context = httpx2.create_ssl_context()
    for function in (httpx2.Client.__init__, httpx2.AsyncClient.__init__, httpx2.request, httpx2.get, httpx2.post):
        defaults = function.__kwdefaults__ or {}
        assert defaults["verify"] is True
        defaults["verify"] = context


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(here).as_posix()
        is_kept = any(kind in item.nodeid for kind in ("sqlite", "redis", "postgres"))
        if "/" not in place or place.startswith(tuple(f"{folder}/" for folder in WHOLE)) or is_kept:
            item.add_marker("whole")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a server without a configuration file keeps its state."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def serve() -> Serve:
    return serving


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """Serve `app` with uvicorn, in this event loop, on a free loopback port.

    The application's lifespan is run. At the end every connection is cut, as if
    all clients went away; a request that goes on regardless is cancelled.
    """
    config = uvicorn.Config(app, log_config=None, access_log=False)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio only does it where `proto` was given
        try:
            await server.startup(sockets=[listener])
        except SystemExit:
            raise RuntimeError("The application did not start; the log says why.") from None
        await server.on_tick(0)  # uvicorn's loop would do this and then wake ten times a second
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            await stop(server)


async def stop(server: uvicorn.Server) -> None:
    """End a server without the pauses of uvicorn's own shutdown."""
    for listening in server.servers:
        listening.close()
    for connection in list(server.server_state.connections):
        connection.transport.abort()
    if requests := set(server.server_state.tasks):
        _, stuck = await asyncio.wait(requests, timeout=GRACE)
        for request in stuck:
            request.cancel()
        if stuck:
            await asyncio.wait(stuck)
    await server.lifespan.shutdown()
