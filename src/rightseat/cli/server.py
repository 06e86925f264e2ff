"""The HTTP server of `rightseat serve`: its start, and its graceful shutdown."""

import asyncio
import errno
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any

import click
import uvicorn
from starlette.types import ASGIApp

from rightseat import __version__, app
from rightseat.access.setup_code import SetupCode
from rightseat.cli import setup
from rightseat.cli.allocator import HeapTrimmer, map_large_blocks
from rightseat.cli.http_protocol import ConnectionTimeouts, HttpProtocol
from rightseat.cli.listeners import stop_listening
from rightseat.cli.progress import show_progress
from rightseat.cli.proxy_headers import ProxyHeaders
from rightseat.cli.serve_options import ServeOptions
from rightseat.cli.signals import Terminated
from rightseat.cli.summary import summarize
from rightseat.cli.untyped_json import UntypedJson
from rightseat.config import FILE, Config, ConfiguredPart, Server
from rightseat.core.errors import ConfigError
from rightseat.health.warnings import explain_missing_auth, warnings
from rightseat.installation import install_command

logger = logging.getLogger(__name__)

MAX_SOCKET_FRAME_BYTES = 65_536
SHUTDOWN_MARGIN_S = 2  # for streams to send that their run was ended
TICKS_PER_TRIM = 10  # of the server, which has ten a second
CONNECTION_DRAIN_S = 0.3  # for the requests of connections that were just accepted
WORKER_LINGER_S = 0.25
"""A worker and its supervisor may get SIGTERM at once, as from systemd. The supervisor closes the sockets first."""
MAX_UNSENT_BYTES = 65536  # in the kernel for one client; beyond them its run is paused, not buffered


def load_config(options: ServeOptions) -> Config:
    config = override_address(choose_config(options), options.host, options.port)
    if refusal := explain_missing_auth(config):
        raise ConfigError(refusal)
    return allow_editing(config) if options.edit else config


def serve(
    options: ServeOptions, listener: socket.socket | None = None, on_started: Callable[[], None] | None = None
) -> None:
    """Serve until SIGINT or SIGTERM, at `listener` if it is given. With `on_started`, the caller prints the summary."""
    access_log = options.access_log
    setup.set_up_logging(access=access_log)
    config = load_config(options)
    telemetry = config.telemetry
    setup.set_up_logging(access=access_log, runs=True, form=telemetry.log_format, level=telemetry.log_level)
    sockets = find_socket_protocol(config)
    assembly = app.assemble(config, is_worker=options.is_worker, has_sockets=sockets is not None)
    served: ASGIApp = app.application(assembly, config.server)
    if options.is_without_file and config.server.is_local:
        served = UntypedJson(served, openai_path(config))
    files = self_signed(config.server) if options.tls_self_signed else {}
    with listener or listen(config.server) as bound:
        settings = uvicorn.Config(
            ProxyHeaders(served, config.server.trusted_proxies),
            interface="asgi3",
            proxy_headers=False,  # `ProxyHeaders` also logs why headers are ignored
            http=HttpProtocol,
            ws=sockets or "none",
            ws_max_size=MAX_SOCKET_FRAME_BYTES,
            ws_per_message_deflate=False,  # it takes 40 KB for each socket
            ws_ping_interval=None,  # a timer for each socket; pages send heartbeats
            lifespan="off",  # `RightseatServer` opens the parts
            log_config=None,
            access_log=access_log,
            server_header=False,
            timeout_keep_alive=ceil(config.server.read_timeout),  # `ConnectionTimeouts` is more exact
            timeout_graceful_shutdown=config.server.shutdown_timeout + SHUTDOWN_MARGIN_S,
            **files,
        )
        linger_s = WORKER_LINGER_S if options.is_worker else 0.0
        server = RightseatServer(settings, config, assembly, on_started, linger_s)
        prepare_setup(server, config, assembly, options, is_child=listener is not None)
        run(server, bound)
    if server.is_restarting:
        start_again()


def find_socket_protocol(config: Config) -> type[asyncio.Protocol] | None:
    """None if no face has live lists, or if the package for WebSockets is not installed."""
    if not any(getattr(face.options, "live", False) for face in config.faces):
        return None
    try:
        found: type[asyncio.Protocol] = import_module("rightseat.cli.socket_protocol").SocketProtocol
    except ModuleNotFoundError as error:
        if error.name != "websockets":
            raise
        logger.info("Lists do not follow changes of other windows: %s", install_command("live"))
        return None
    return found


def prepare_setup(
    server: "RightseatServer", config: Config, assembly: app.Assembly, options: ServeOptions, *, is_child: bool
) -> None:
    """Without a configuration file, the console may write one, and the server then starts again.

    `is_child`: the process that watches the files starts it again, as soon as there is a new one.
    """
    own_server = assembly.own_server
    has_console = {"console", "operator"} <= {face.type for face in config.faces}
    if own_server is None or config.path is not None or options.is_without_file or not has_console:
        return
    if config.server.is_local:
        own_server.setup_code = SetupCode()
        own_server.restart = ignore_restart if is_child else server.restart


def ignore_restart() -> None: ...


def start_again() -> None:
    """Replace this process by a new one with the same arguments. The port is free by now."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606  # our own arguments, no shell


def choose_config(options: ServeOptions) -> Config:
    path, model, endpoint = options.path, options.model, options.endpoint
    if model is not None and endpoint is not None:
        raise ConfigError("Use either --model or --endpoint: a file to start a llama-server with, or a running one.")
    if not options.is_without_file:
        if options.embeddings is not None:
            raise ConfigError("--embeddings needs --model or --endpoint. In a file, it is `embeddings` of the model.")
        return setup.load(path)
    option, key = ("--endpoint", "backend.url") if model is None else ("--model", "backend.model")
    if path is not None:
        raise ConfigError(f"Use either --config or {option}. In {path}, the option is `{key}`.")
    if Path(FILE).exists():
        click.echo(f"Ignoring ./{FILE} because of {option}.", err=True)
    if model is None:
        return setup.load_endpoint(endpoint or "", options.embeddings)
    return setup.load_model(model, options.embeddings)


def allow_editing(config: Config) -> Config:
    """Switch on `edit` of the face `operator`. Raises `ConfigError` where it would have no effect."""
    if not any(face.type == "operator" for face in config.faces):
        raise ConfigError("--edit needs the face `operator`. Add it to `faces`, beside `console`.")
    if not config.access.is_set:
        raise ConfigError("--edit needs keys: files of plugins can only be saved with a key of `access.keys`.")
    return replace(config, faces=tuple(allow_edit(face) if face.type == "operator" else face for face in config.faces))


def allow_edit(face: ConfiguredPart) -> ConfiguredPart:
    return replace(face, options=face.options.model_copy(update={"edit": True}))


def openai_path(config: Config) -> str:
    """The path of the OpenAI API for `serve --model`."""
    return next(str(getattr(face.options, "path", "")) for face in config.faces if face.type == "openai")


def self_signed(server: Server) -> dict[str, Any]:
    """`cryptography` is a large import, so only servers that need it load it."""
    files = import_module("rightseat.cli.certificate").ensure_certificate(server.state_dir, server.names)
    return {"ssl_certfile": files.certificate, "ssl_keyfile": files.key}


def override_address(config: Config, host: str | None, port: int | None) -> Config:
    overrides = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    return replace(config, server=config.server.model_copy(update=overrides))


def listen(server: Server) -> socket.socket:
    """Before anything starts, so that an unavailable address is one line and not a traceback."""
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    try:
        listener = socket.create_server((server.host, server.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(explain(error, server)) from error
    limit_unsent(listener)
    return listener


def limit_unsent(listener: socket.socket) -> None:
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MAX_UNSENT_BYTES)


def explain(error: OSError, server: Server) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {server.port} of {server.host} is already in use. Choose another with --port."
    reason = (error.strerror or str(error)).partition(" (")[0]
    return f"Cannot listen on {server.host}, port {server.port}: {reason}."


class RightseatServer(uvicorn.Server):
    """Prints a summary after startup. On shutdown, runs have `shutdown_timeout` seconds to finish, then they end.

    It opens and closes the parts itself, so that their errors are one line and not a traceback.
    """

    def __init__(
        self,
        settings: uvicorn.Config,
        config: Config,
        assembly: app.Assembly,
        on_started: Callable[[], None] | None = None,
        linger_s: float = 0.0,
    ) -> None:
        """`linger_s`: how long the server goes on after it was told to stop."""
        super().__init__(settings)
        self._linger_s = linger_s
        self._config = config
        self._assembly = assembly
        self._on_started = on_started
        self._opened = assembly.opened()
        self.is_restarting = False
        timeouts = (config.server.read_timeout, config.server.write_timeout)
        self._heap = HeapTrimmer()
        self._timeouts = ConnectionTimeouts(self.server_state.connections, *timeouts)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        with show_progress("Starting models, tools and stores"):
            await self._opened.__aenter__()
        await super().startup(sockets)
        gc.collect()
        gc.enable()
        gc.freeze()  # loaded modules stay for ever: full collections need not scan them
        for listener in sockets or ():
            self._announce(address(listener, "https" if self.config.is_ssl else "http"))

    def _announce(self, url: str) -> None:
        own_server = self._assembly.own_server
        setup_code = own_server.setup_code if own_server else None
        if own_server:
            own_server.url = url
        if self._on_started:
            self._on_started()
        else:
            announce(self._config, url, setup_code.text if setup_code else None)

    def restart(self) -> None:
        """Shut down in good order; `serve` then starts again. From now on no run starts, and event streams end."""
        self._assembly.runtime.begin_shutdown()
        self.is_restarting = True
        self.should_exit = True

    async def on_tick(self, counter: int) -> bool:
        self._timeouts.check_connections()
        if counter % TICKS_PER_TRIM == 0:
            self._heap.trim()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await asyncio.sleep(self._linger_s)
        self._assembly.runtime.begin_shutdown()
        last = [asyncio.create_task(self._adopt(one)) for one in await stop_listening(self.servers, sockets or ())]
        await asyncio.sleep(CONNECTION_DRAIN_S)  # uvicorn would close connections whose request has not arrived yet
        for task in last:
            task.cancel()  # a TLS handshake that has not ended
        ending = asyncio.create_task(self._end_runs())
        await super().shutdown(sockets)
        ending.cancel()
        await self._opened.__aexit__(None, None, None)

    async def _adopt(self, connection: socket.socket) -> None:
        """Serve a connection that the event loop has not accepted."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):  # the client is gone
            await loop.connect_accepted_socket(
                lambda: HttpProtocol(self.config, self.server_state, self.lifespan.state),
                connection,
                ssl=self.config.ssl,
            )

    async def _end_runs(self) -> None:
        await asyncio.sleep(self._config.server.shutdown_timeout)
        await self._assembly.runtime.close()


def announce(config: Config, url: str, setup_code: str | None = None) -> None:
    click.echo(f"rightseat {__version__}")
    for line in summarize(config, url, setup_code):
        click.echo(line)
    for line in warnings(config):
        click.echo(f"Warning: {line}", err=True)
    if config.path is None and config.models["default"].type == "completion":
        click.echo(f"Try it:\n  {curl(url)}")


def curl(url: str) -> str:
    body = '{"model": "default", "messages": [{"role": "user", "content": "Hello"}]}'
    return f"curl {url}/v1/chat/completions -H 'content-type: application/json' -d '{body}'"


def address(listener: socket.socket, scheme: str = "http") -> str:
    host, port = listener.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def run(server: uvicorn.Server, listener: socket.socket) -> None:
    map_large_blocks()
    try:
        server.run(sockets=[listener])
    except (KeyboardInterrupt, Terminated):
        return  # uvicorn has shut down gracefully and re-raises the signal
    if not server.started:
        raise click.exceptions.Exit(1)
