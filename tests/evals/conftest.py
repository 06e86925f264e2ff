"""Commands run in this process, and must leave nothing behind."""

from tests.cli.conftest import process

__all__ = ["process"]
