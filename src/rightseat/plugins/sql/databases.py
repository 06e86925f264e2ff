"""Which database a step asks: one that comes with its plugin, or one that the operator has bound to the plugin.

A plugin never says where a database is. One that it brings is an SQL script, which is run once into a file of ours.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_core import PydanticCustomError

from rightseat.core.errors import BadQuery
from rightseat.parts import BesidePath
from rightseat.plugins.definition import Database, Plugin
from rightseat.plugins.results import StepFailed
from rightseat.plugins.sql import catalog as catalogs
from rightseat.plugins.sql.catalog import Catalog
from rightseat.plugins.sql.checker import Checker
from rightseat.plugins.sql.engines import Engine
from rightseat.plugins.sql.engines.files import FileEngine, build
from rightseat.plugins.sql.engines.mysql import MySQL
from rightseat.plugins.sql.engines.postgres import Postgres


class Binding(BaseModel):
    """A database of the operator's, for one name in one plugin."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: SecretStr | None = None
    """`postgresql://role:password@host/database`, `mysql://…` (MariaDB as well), `sqlite:///file` or `duckdb:///file`. The role must have no right but SELECT. Not needed for a database that comes with the plugin."""  # noqa: E501
    db_schema: str = Field(default="public", alias="schema")
    """PostgreSQL: the schema whose tables are read."""
    catalog: BesidePath | None = None
    """A file that lists what may be read, in place of the plugin's own."""

    @field_validator("url")
    @classmethod
    def _is_known(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and urlsplit(url.get_secret_value()).scheme not in KINDS:
            raise PydanticCustomError("database_url", "It should begin with one of: " + ", ".join(KINDS) + ".")
        return url


KINDS = ("postgresql", "mysql", "mariadb", "sqlite", "duckdb")


@dataclass(frozen=True, slots=True)
class Source:
    """A database that can be asked, and what may be read of it."""

    name: str
    engine: Engine
    catalog: Catalog
    description: str = ""


class Databases:
    """`bindings` are by the plugin's id and the database's name. `state` is where bundled databases are kept."""

    def __init__(self, state: Path, bindings: Mapping[str, Mapping[str, Binding]] | None = None) -> None:
        self._state = state
        self._bindings = bindings or {}
        self._engines: dict[tuple[str, str], Engine] = {}
        self._building = asyncio.Lock()
        self._checker = Checker()
        self._catalogs: dict[Path, tuple[tuple[int, int], Catalog]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for engine in self._engines.values():
            await engine.aclose()
        self._engines.clear()
        await self._checker.aclose()

    async def find(self, plugin: Plugin, name: str | None) -> Source:
        """Raises `StepFailed`: there is no such database, it is bound to nothing, or it has no catalog."""
        database = self._choose(plugin, name)
        engine = await self._engine(plugin, database)
        catalog = await asyncio.to_thread(self._catalog, plugin, database)
        return Source(database.name, engine, catalog, database.description)

    async def check(self, sql: str, source: Source, rows: int) -> str:
        """The statement to run in place of `sql`. Raises `Refused`."""
        engine = source.engine
        return await self._checker.check(sql, source.catalog.columns(), engine.dialect, rows, engine.schema)

    async def draft(self, plugin: Plugin, name: str | None = None) -> str:
        """A catalog of everything that can be read there, for the operator to cut and to approve by binding it."""
        engine = await self._engine(plugin, self._choose(plugin, name))
        return catalogs.draft(await engine.describe(), engine.dialect)

    def _choose(self, plugin: Plugin, name: str | None) -> Database:
        bound = self._bindings.get(plugin.id, {})
        known = {**{one: Database(one) for one in bound}, **plugin.databases}
        if name is None:
            only = plugin.databases if len(plugin.databases) == 1 else bound
            name = next(iter(only)) if len(only) == 1 else None
        if name is None or name not in known:
            listed = ", ".join(known) or "none"
            wanted = f"no database {name!r}" if name else "no single database"
            raise StepFailed("sql_failed", f"The plugin {plugin.id} has {wanted}. It has: {listed}.")
        return known[name]

    def _catalog(self, plugin: Plugin, database: Database) -> Catalog:
        path = self._binding(plugin, database).catalog or database.catalog
        if path is None:
            message = (
                f"The database {database.name} of {plugin.id} has no catalog. `rightseat plugin catalog` drafts"
                " one from the database; it is used once the operator has bound it."
            )
            raise StepFailed("sql_refused", message)
        return self._load(path if path.is_absolute() else plugin.folder / path)

    def _load(self, path: Path) -> Catalog:
        """Read anew only where the file has changed: a large one takes a second."""
        try:
            stat = path.stat()
        except OSError:
            return catalogs.load(path)  # and its message
        version = (stat.st_mtime_ns, stat.st_size)
        known = self._catalogs.get(path)
        if known is None or known[0] != version:
            known = self._catalogs[path] = (version, catalogs.load(path))
        return known[1]

    def _binding(self, plugin: Plugin, database: Database) -> Binding:
        return self._bindings.get(plugin.id, {}).get(database.name) or Binding()

    async def _engine(self, plugin: Plugin, database: Database) -> Engine:
        url = self._binding(plugin, database).url
        key = (f"{plugin.id}/{database.name}", "" if url else plugin.identity.digest)
        async with self._building:
            if key not in self._engines:
                self._engines[key] = (
                    connect(url.get_secret_value(), self._binding(plugin, database).db_schema)
                    if url
                    else await self._bundled(plugin, database)
                )
        return self._engines[key]

    async def _bundled(self, plugin: Plugin, database: Database) -> Engine:
        if database.bundled is None:
            message = f"The operator has bound no database to the name {database.name} of the plugin {plugin.id}."
            raise StepFailed("sql_failed", message)
        path = database.bundled if database.bundled.is_absolute() else plugin.folder / database.bundled
        script = await asyncio.to_thread(path.read_text, "utf-8-sig")
        digest = hashlib.sha256(script.encode()).hexdigest()[:32]
        file = (self._state / "databases" / f"{plugin.id}-{database.name}-{digest}.sqlite").absolute()
        if not await asyncio.to_thread(file.exists):
            try:
                content = await build(script)
            except BadQuery as error:
                message = f"The script {path.name} of the database {database.name} cannot be run: {error.message}"
                raise StepFailed("sql_failed", message) from None
            await asyncio.to_thread(put, file, content)
        return FileEngine("sqlite", file, fixed=True)


def connect(url: str, schema: str) -> Engine:
    """Opens nothing yet."""
    parts = urlsplit(url)
    match parts.scheme:
        case "postgresql":
            return Postgres(url, schema)
        case "mysql" | "mariadb":
            return MySQL(url)
        case "sqlite" | "duckdb" as dialect:
            return FileEngine(dialect, Path(unquote(parts.path)))
        case other:
            raise StepFailed("sql_failed", f"A database cannot be of the kind {other!r}. Known: {', '.join(KINDS)}.")


def put(file: Path, content: bytes) -> None:
    """Whole or not at all: another process may be making the same file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}.new")
    draft.write_bytes(content)
    draft.chmod(0o400)
    draft.replace(file)
