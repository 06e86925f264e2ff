"""Shared setup of commands: logging, the import path and the configuration."""

import json
import logging
import sys
from pathlib import Path
from typing import Literal

import click

from rightseat import config
from rightseat.config import Config, ConfiguredPart
from rightseat.core.errors import ConfigError
from rightseat.egress.request import parse_base_url
from rightseat.telemetry.logs import FORMATTERS, ContextFilter, OutageFilter

file_option = click.option(
    "-c", "--config", "path", type=click.Path(path_type=Path), help=f"The configuration file.  [default: {config.FILE}]"
)


def load(path: Path | None) -> Config:
    """Read the configuration. Its folder is put on the import path, so that it can refer to modules there."""
    add_to_import_path(path)
    return config.find(path)


def add_to_import_path(path: Path | None) -> None:
    """The folder of the configuration."""
    sys.path.insert(0, str((path or Path(config.FILE)).resolve().parent))


def load_model(file: Path, embeddings: str | None = None) -> Config:
    """The configuration for a model file alone: one agent with that model, at the default paths."""
    if not file.is_file():
        raise ConfigError(f"There is no file {file}. --model expects a GGUF file.")
    return parse_backend({"model": str(file.absolute())}, embeddings)


def load_endpoint(url: str, embeddings: str | None = None) -> Config:
    """The configuration for a running llama-server alone."""
    check_url(url, "--endpoint")
    return parse_backend({"url": url}, embeddings)


def check_url(url: str, option: str) -> None:
    try:
        parse_base_url(url)
    except ValueError as error:
        raise ConfigError(f"{option}: {error}.") from None


def parse_backend(backend: dict[str, str], embeddings: str | None = None) -> Config:
    """`embeddings` is a GGUF file, or the URL of a running llama-server."""
    model: dict[str, object] = {"type": "completion", "backend": backend}
    if embeddings is not None:
        model["embeddings"] = read_embeddings(embeddings)
    return config.parse(json.dumps({"models": {"default": model}}))


def read_embeddings(given: str) -> dict[str, str]:
    if "://" in given:
        check_url(given, "--embeddings")
        return {"url": given}
    if not Path(given).is_file():
        raise ConfigError(f"There is no file {given}. --embeddings expects a GGUF file, or the URL of a llama-server.")
    return {"model": str(Path(given).absolute())}


def describe_store(part: ConfiguredPart) -> str:
    """Where a part stores its data, without its password."""
    if getattr(part.options, "url", None):
        return f"the database of `{part.type}`"
    return str(getattr(part.options, "path", "") or "memory")


def set_up_logging(
    *, access: bool = False, runs: bool = False, form: Literal["plain", "json"] = "plain", level: str = "info"
) -> None:
    """One line per message to stderr: rightseat's from `level` on, warnings of other packages.

    `access` logs each request, `runs` each run that ends: a server does, a command prints its run itself.
    """
    handler = logging.StreamHandler()
    if form == "json":  # plain lines do not show the context
        handler.addFilter(ContextFilter())
    handler.addFilter(OutageFilter())
    handler.setFormatter(FORMATTERS[form])
    logging.getLogger("dbos").addHandler(logging.NullHandler())  # it would add one with a format of its own
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("rightseat").setLevel(level.upper())
    logging.getLogger("rightseat.audit").setLevel(logging.INFO)  # independent of `level`
    logging.getLogger("rightseat.runs").setLevel(logging.NOTSET if runs else logging.WARNING)
    logging.getLogger("uvicorn.access").setLevel(logging.INFO if access else logging.WARNING)
