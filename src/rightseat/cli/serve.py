"""`rightseat serve`"""

import asyncio
import errno
import gc
import os
import socket
from dataclasses import replace
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any

import click
import uvicorn
from starlette.types import ASGIApp

from rightseat import __version__, app
from rightseat.cli import start
from rightseat.cli.first import Terminated
from rightseat.cli.http_protocol import Deadlines, HttpProtocol
from rightseat.cli.summary import reason_to_stay_here, summarize, warnings
from rightseat.cli.untyped_json import UntypedJson
from rightseat.config import FILE, Config, Server
from rightseat.core.errors import ConfigError

LAST_WORDS = 2  # seconds for answers to say that they were ended
HANDSHAKE = 0.3  # seconds for the requests of connections that were just made
UNSENT = 65536  # bytes that a client may leave unread in the kernel; beyond them its run is paused, not buffered


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@start.file_option
@click.option("--model", type=click.Path(path_type=Path), help="Serve this GGUF file, without a configuration.")
@click.option("--host", help="The address to listen on, instead of the configuration's.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port, instead of the configuration's; 0 takes any.")
@click.option("--access-log", is_flag=True, help="Log every request.")
@click.option("--tls-self-signed", is_flag=True, help="Speak https, with a certificate of this machine's own.")
def command(
    file: Path | None,
    path: Path | None,
    model: Path | None,
    host: str | None,
    port: int | None,
    access_log: bool,
    tls_self_signed: bool,
) -> None:
    """Serve what the configuration says.

    FILE is the configuration, as with --config. Without a file, OpenAI's model answers if OPENAI_API_KEY is set, else
    a built-in one that needs no key.
    """
    os.umask(0o077)  # what a server writes is for its own user
    start.set_up_logging(access=access_log)
    config = listening_on(choose(file or path, model), host, port)
    start.set_up_logging(access=access_log, form=config.telemetry.logs, level=config.telemetry.level)
    if closed := reason_to_stay_here(config):
        raise ConfigError(closed)
    assembly = app.assemble(config)
    served: ASGIApp = app.application(assembly, config.server)
    if model is not None and config.server.is_local:
        served = UntypedJson(served, openai_path(config))
    files = self_signed(config.server) if tls_self_signed else {}
    with listen(config.server) as listener:
        settings = uvicorn.Config(
            served,
            http=HttpProtocol,
            ws="none",
            lifespan="off",  # `OurServer` opens the parts
            log_config=None,
            access_log=access_log,
            server_header=False,
            timeout_keep_alive=ceil(config.server.read_timeout),  # `Deadlines` is more exact
            timeout_graceful_shutdown=config.server.grace + LAST_WORDS,
            **files,
        )
        run(OurServer(settings, config, assembly), listener)


def choose(path: Path | None, model: Path | None) -> Config:
    if model is None:
        return start.load(path)
    if path is not None:
        raise ConfigError(f"Either --config or --model. A model's file can be named in {path}, as `engine.model`.")
    if Path(FILE).exists():
        click.echo(f"{FILE} of this folder is not read, because of --model.", err=True)
    return start.load_model(model)


def openai_path(config: Config) -> str:
    """Where `serve --model` has OpenAI's API."""
    return next(str(getattr(face.options, "path", "")) for face in config.faces if face.type == "openai")


def self_signed(server: Server) -> dict[str, Any]:
    """What makes certificates is large, so only a server that needs one imports it."""
    found = import_module("rightseat.cli.certificate").kept(server.state, (server.host, *server.hosts))
    return {"ssl_certfile": found.certificate, "ssl_keyfile": found.key}


def listening_on(config: Config, host: str | None, port: int | None) -> Config:
    asked = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    return replace(config, server=config.server.model_copy(update=asked))


def listen(server: Server) -> socket.socket:
    """Bind before anything starts, so that an address that cannot be had is one line and not a traceback."""
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    try:
        listener = socket.create_server((server.host, server.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(explain(error, server)) from error
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)
    return listener


def explain(error: OSError, server: Server) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {server.port} of {server.host} is in use. Stop what uses it, or take another with --port."
    reason = (error.strerror or str(error)).partition(" (")[0]
    return f"Cannot listen on {server.host}, port {server.port}: {reason}."


class OurServer(uvicorn.Server):
    """Says what is served once it is. When it stops, runs have `grace` to end, and are then ended in good order.

    It opens and closes the parts itself: what is wrong with one of them is then one line, and no traceback.
    """

    def __init__(self, settings: uvicorn.Config, config: Config, assembly: app.Assembly) -> None:
        super().__init__(settings)
        self._config = config
        self._assembly = assembly
        self._opened = assembly.opened()
        timeouts = (config.server.read_timeout, config.server.write_timeout)
        self._deadlines = Deadlines(self.server_state.connections, *timeouts)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self._opened.__aenter__()
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what is loaded now stays: the collector need not look at it with every pass
        for listener in sockets or ():
            announce(self._config, address(listener, "https" if self.config.is_ssl else "http"))

    async def on_tick(self, counter: int) -> bool:
        self._deadlines.visit()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._assembly.runtime.is_leaving = True
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        await asyncio.sleep(HANDSHAKE)  # uvicorn would close a connection whose request is still on its way
        ending = asyncio.create_task(self._end_runs())
        await super().shutdown(sockets)
        ending.cancel()
        await self._opened.__aexit__(None, None, None)

    async def _end_runs(self) -> None:
        await asyncio.sleep(self._config.server.grace)
        await self._assembly.runtime.close()


def announce(config: Config, url: str) -> None:
    click.echo(f"rightseat {__version__}")
    for line in summarize(config, url):
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
    try:
        server.run(sockets=[listener])
    except (KeyboardInterrupt, Terminated):
        return  # uvicorn has stopped in good order, and then tells us why
    if not server.started:
        raise click.exceptions.Exit(1)
