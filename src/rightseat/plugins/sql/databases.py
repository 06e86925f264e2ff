"""Finds the database of a step: one bundled with its plugin, or one that the operator has bound to the plugin.

A plugin never contains the address of a database. A bundled one is an SQL script, which is run once into a local file.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_core import PydanticCustomError

from rightseat.core.errors import BadQuery
from rightseat.parts import BesidePath
from rightseat.plugins.definition import Plugin, PluginDatabase
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql import catalog as catalogs
from rightseat.plugins.sql.catalog import Catalog
from rightseat.plugins.sql.checker import StatementChecker
from rightseat.plugins.sql.dialects import Dialect
from rightseat.plugins.sql.dialects.files import FileDialect, build_database
from rightseat.plugins.sql.dialects.mysql import MySQLDialect
from rightseat.plugins.sql.dialects.postgres import PostgresDialect


class Binding(BaseModel):
    """The operator's database for one name in one plugin."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: SecretStr | None = None
    """`postgresql://role:password@host/database`, `mysql://…` (MariaDB as well), `sqlite:///file` or `duckdb:///file`. The role must have no privilege but SELECT. Not needed for a database bundled with the plugin."""  # noqa: E501
    db_schema: str = Field(default="public", alias="schema")
    """PostgreSQL: the schema whose tables are read."""
    catalog: BesidePath | None = None
    """A file that lists the readable tables and columns, instead of the plugin's own."""

    @field_validator("url")
    @classmethod
    def _check_scheme(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and urlsplit(url.get_secret_value()).scheme not in URL_SCHEMES:
            raise PydanticCustomError("database_url", "It must start with one of: " + ", ".join(URL_SCHEMES) + ".")
        return url


URL_SCHEMES = ("postgresql", "mysql", "mariadb", "sqlite", "duckdb")


@dataclass(frozen=True, slots=True)
class BoundDatabase:
    """A database with its connection and its catalog."""

    name: str
    dialect: Dialect
    catalog: Catalog
    description: str = ""


class Databases:
    """`bindings` are by plugin id and database name. `state` is the folder for bundled databases."""

    def __init__(self, state: Path, bindings: Mapping[str, Mapping[str, Binding]] | None = None) -> None:
        self._state = state
        self._bindings = bindings or {}
        self._dialects: dict[tuple[str, str], Dialect] = {}
        self._build_lock = asyncio.Lock()
        self._checker = StatementChecker()
        self._catalogs: dict[Path, tuple[tuple[int, int], Catalog]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for dialect in self._dialects.values():
            await dialect.aclose()
        self._dialects.clear()
        await self._checker.aclose()

    async def find(self, plugin: Plugin, name: str | None) -> BoundDatabase:
        """Raises `StepFailed` if there is no such database, no connection or no catalog."""
        database = self._find_declared(plugin, name)
        dialect = await self._connect(plugin, database)
        catalog = await asyncio.to_thread(self._load_catalog, plugin, database)
        return BoundDatabase(database.name, dialect, catalog, database.description)

    async def check(self, sql: str, database: BoundDatabase, max_rows: int) -> str:
        """The statement to run in place of `sql`. Raises `Refused`."""
        dialect = database.dialect
        return await self._checker.check(sql, database.catalog.columns(), dialect.name, max_rows, dialect.schema)

    async def draft(self, plugin: Plugin, name: str | None = None) -> str:
        """A catalog of everything readable, for the operator to shorten and bind."""
        dialect = await self._connect(plugin, self._find_declared(plugin, name))
        return catalogs.draft(await dialect.describe(), dialect.name)

    def _find_declared(self, plugin: Plugin, name: str | None) -> PluginDatabase:
        bound = self._bindings.get(plugin.id, {})
        databases = {**{one: PluginDatabase(one) for one in bound}, **plugin.databases}
        if name is None:
            only = plugin.databases if len(plugin.databases) == 1 else bound
            name = next(iter(only)) if len(only) == 1 else None
        if name is None or name not in databases:
            listed = ", ".join(databases) or "none"
            missing = f"no database {name!r}" if name else "not exactly one database"
            raise StepFailed("sql_failed", f"The plugin {plugin.id} has {missing}. It has: {listed}.")
        return databases[name]

    def _load_catalog(self, plugin: Plugin, database: PluginDatabase) -> Catalog:
        path = self._binding(plugin, database).catalog or database.catalog
        if path is None:
            message = (
                f"The database {database.name} of {plugin.id} has no catalog. `rightseat plugin catalog` drafts"
                " one; bind it in the configuration to use it."
            )
            raise StepFailed("sql_refused", message)
        return self._load_cached(path if path.is_absolute() else plugin.folder / path)

    def _load_cached(self, path: Path) -> Catalog:
        """Reload only if the file has changed: a large one takes a second."""
        try:
            stat = path.stat()
        except OSError:
            return catalogs.load(path)  # raises with its message
        version = (stat.st_mtime_ns, stat.st_size)
        cached = self._catalogs.get(path)
        if cached is None or cached[0] != version:
            cached = self._catalogs[path] = (version, catalogs.load(path))
        return cached[1]

    def _binding(self, plugin: Plugin, database: PluginDatabase) -> Binding:
        return self._bindings.get(plugin.id, {}).get(database.name) or Binding()

    async def _connect(self, plugin: Plugin, database: PluginDatabase) -> Dialect:
        url = self._binding(plugin, database).url
        key = (f"{plugin.id}/{database.name}", "" if url else plugin.identity.digest)
        async with self._build_lock:
            if key not in self._dialects:
                self._dialects[key] = (
                    connect(url.get_secret_value(), self._binding(plugin, database).db_schema)
                    if url
                    else await self._open_bundled(plugin, database)
                )
        return self._dialects[key]

    async def _open_bundled(self, plugin: Plugin, database: PluginDatabase) -> Dialect:
        if database.bundled is None:
            message = (
                f"The database {database.name} of the plugin {plugin.id} is not configured: bind a connection to it."
            )
            raise StepFailed("sql_failed", message)
        path = database.bundled if database.bundled.is_absolute() else plugin.folder / database.bundled
        script = await asyncio.to_thread(path.read_text, "utf-8-sig")
        digest = hashlib.sha256(script.encode()).hexdigest()[:32]
        file = (self._state / "databases" / f"{plugin.id}-{database.name}-{digest}.sqlite").absolute()
        if not await asyncio.to_thread(file.exists):
            try:
                content = await build_database(script)
            except BadQuery as error:
                message = f"The script {path.name} of the database {database.name} failed: {error.message}"
                raise StepFailed("sql_failed", message) from None
            await asyncio.to_thread(write_atomically, file, content)
        return FileDialect("sqlite", file, is_immutable=True)


def connect(url: str, schema: str) -> Dialect:
    """The connection is opened on first use."""
    parts = urlsplit(url)
    match parts.scheme:
        case "postgresql":
            return PostgresDialect(url, schema)
        case "mysql" | "mariadb":
            return MySQLDialect(url)
        case "sqlite" | "duckdb" as name:
            return FileDialect(name, Path(unquote(parts.path)))
        case other:
            raise StepFailed("sql_failed", f"Unknown database scheme {other!r}. Known: {', '.join(URL_SCHEMES)}.")


def write_atomically(file: Path, content: bytes) -> None:
    """Another process may be writing the same file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}.new")
    draft.write_bytes(content)
    draft.chmod(0o400)
    draft.replace(file)
