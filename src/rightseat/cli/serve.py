"""`rightseat serve`: the command.

The server is a large import, of one to two seconds. With `--workers`, the first worker begins with it before this
process does.
"""

import os
from importlib import import_module
from pathlib import Path

import click

from rightseat.cli import setup
from rightseat.cli.serve_options import ServeOptions
from rightseat.cli.startup import blocked_interrupts, paused_gc
from rightseat.cli.worker_process import WorkerProcess, share_metrics
from rightseat.core.errors import ConfigError


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@setup.file_option
@click.option("--model", type=click.Path(path_type=Path), help="Serve this GGUF file without a configuration.")
@click.option("--endpoint", metavar="URL", help="Serve the model of a running llama-server, without a configuration.")
@click.option("--embeddings", metavar="FILE|URL", help="With --model or --endpoint: the model for /v1/embeddings.")
@click.option("--host", help="The address to listen on; overrides the configuration.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port; overrides the configuration. 0: any free.")
@click.option("--access-log", is_flag=True, help="Log every request.")
@click.option("--edit", is_flag=True, help="Let authors save files of plugins in the web console.")
@click.option("--tls-self-signed", is_flag=True, help="Serve https with a self-signed certificate.")
@click.option(
    "--reload", "reloads", is_flag=True, help="Restart when the configuration, Python files or plugins change."
)
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, help="Server processes that share the port and the state. [1]"
)
def command(
    file: Path | None,
    path: Path | None,
    model: Path | None,
    endpoint: str | None,
    embeddings: str | None,
    host: str | None,
    port: int | None,
    access_log: bool,
    edit: bool,
    tls_self_signed: bool,
    reloads: bool,
    workers: int,
) -> None:
    """Start the server.

    FILE is the configuration, as with --config. Without one, rightseat serves an OpenAI model if OPENAI_API_KEY is set,
    else the built-in demo model, which needs no key.
    """
    os.umask(0o077)  # files that the server writes are for its own user only
    options = ServeOptions(file or path, model, endpoint, host, port, access_log, tls_self_signed, edit, embeddings)
    if reloads and workers > 1:
        raise ConfigError("Use either --reload or --workers: --reload restarts one process.")
    if reloads:
        import_module("rightseat.cli.reload").serve_and_reload(options)
    elif workers > 1:
        with paused_gc(), share_metrics() as metrics_folder, WorkerProcess(options) as first:
            with blocked_interrupts():
                supervisor = import_module("rightseat.cli.workers")
            supervisor.serve_with_workers(options, workers, first, metrics_folder)
    else:
        with paused_gc():
            import_module("rightseat.cli.server").serve(options)
