"""What a verb does before it runs anything: the log lines, the import path, the configuration."""

import json
import logging
import sys
from pathlib import Path
from typing import Literal

import click

from rightseat import config
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.telemetry.logs import FORMATTERS, About

file_option = click.option(
    "-c", "--config", "path", type=click.Path(path_type=Path), help=f"The configuration.  [default: {config.FILE}]"
)


def load(path: Path | None) -> Config:
    """Read the configuration. Modules beside the file can be named in it, as if Python had been started there."""
    sys.path.insert(0, str((path or Path(config.FILE)).resolve().parent))
    return config.find(path)


def load_model(file: Path) -> Config:
    """What is served for a model's file alone: an agent with that model, at the usual addresses."""
    if not file.is_file():
        raise ConfigError(f"There is no file {file}. --model should name a GGUF file.")
    model = {"type": "completion", "engine": {"model": str(file.absolute())}}
    return config.parse(json.dumps({"models": {"default": model}}))


def set_up_logging(*, access: bool = False, form: Literal["plain", "json"] = "plain", level: str = "info") -> None:
    """One line a message, to stderr: ours from `level` on, of others only warnings."""
    handler = logging.StreamHandler()
    handler.addFilter(About())
    handler.setFormatter(FORMATTERS[form])
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("rightseat").setLevel(level.upper())
    logging.getLogger("rightseat.audit").setLevel(logging.INFO)  # whatever else is wanted
    logging.getLogger("uvicorn.access").setLevel(logging.INFO if access else logging.WARNING)
