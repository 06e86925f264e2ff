"""The command, run in an empty folder and without a key."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rightseat.cli import main

Run = Callable[..., Result]
"""`run("check", "file.yaml")` is `rightseat check file.yaml`, in this process."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restores what a command may change in its own process: the path, handlers and levels of loggers, the umask."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    root = logging.getLogger()
    umask = os.umask(0o022)
    os.umask(umask)
    handlers, levels = list(root.handlers), {logger: logger.level for logger in loggers()}
    yield
    os.umask(umask)
    root.handlers[:] = handlers
    for logger in loggers():
        level = levels.get(logger, logging.NOTSET)
        if logger.level != level:  # `setLevel` clears what every logger has cached
            logger.setLevel(level)


@pytest.fixture
def run() -> Run:
    return lambda *arguments: CliRunner().invoke(main, arguments, prog_name="rightseat", catch_exceptions=False)


def loggers() -> list[logging.Logger]:
    """The root and ours, by now: others may have a level since they were imported."""
    known = logging.root.manager.loggerDict.items()
    ours = (logger for name, logger in known if name.startswith("rightseat"))
    return [logging.root, *(logger for logger in ours if isinstance(logger, logging.Logger))]
