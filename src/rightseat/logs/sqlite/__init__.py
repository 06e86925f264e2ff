"""The log in one SQLite file."""

from rightseat.logs.sqlite.log import Options, SqliteLog, build

__all__ = ["Options", "SqliteLog", "build"]
