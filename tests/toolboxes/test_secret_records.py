"""What plugins sent before secrets were bound keeps working; nothing else does."""

import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from rightseat import app, config
from rightseat.core.errors import ConfigError
from rightseat.operations.secret_uses import SecretUse
from rightseat.plugins.secret_records import FILE
from rightseat.stores.databases import connect
from rightseat.stores.secret_uses import SqlSecretUses
from rightseat.stores.sql import SqlThreads
from rightseat.stores.tables import secret_uses
from tests.databases import migrated_database

USE = SecretUse("crm", "KEY", "api.crm.example:443")
LINE = '- {name: KEY, plugins: [crm], hosts: ["api.crm.example:443"]}'
DOCUMENT = """
openapi: 3.1.0
info: {title: crm, version: "1"}
servers: [{url: "URL"}]
paths:
  /ping:
    get:
      operationId: ping
      summary: Ping.
      responses: {"200": {description: ok, content: {application/json: {schema: {type: object}}}}}
"""


def write_plugin(folder: Path, id: str = "crm", url: str = "https://api.crm.example") -> None:
    written = {"id": id, "name": id, "description": "The customers.", "version": "1.0.0"}
    auth = {"type": "header", "args": {"Authorization": "Bearer ${secret:KEY}"}}
    (folder / "plugins" / id).mkdir(parents=True, exist_ok=True)
    (folder / "plugins" / id / "plugin.json").write_text(json.dumps(written | {"auth": auth, "automatic_flow": True}))
    (folder / "plugins" / id / "openapi.yaml").write_text(DOCUMENT.replace("URL", url))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RIGHTSEAT_SECRET_KEY", "a long secret")
    write_plugin(tmp_path)
    return tmp_path


@asynccontextmanager
async def started(folder: Path, **changes: Any) -> AsyncIterator[Any]:
    """The secrets of a server's toolbox."""
    toolbox: dict[str, Any] = {"type": "plugins", "folders": ["plugins"], **changes.pop("toolbox", {})}
    written = {"toolboxes": {"ops": toolbox}, "server": {"state_dir": "state"}, **changes}
    (folder / "rightseat.yaml").write_text(yaml.safe_dump({"threads": {"type": "memory"}} | written))
    assembly = app.assemble(config.read(folder / "rightseat.yaml"))
    async with assembly.opened():
        yield assembly.toolboxes["ops"].workbench._settings.secrets  # type: ignore[attr-defined]  # a toolbox of plugins


@contextmanager
def after_an_upgrade(folder: Path) -> Iterator[None]:
    """The state folder is that of a version which bound no secrets."""
    (folder / "state" / "plugins").mkdir(parents=True)
    (folder / "state" / "plugins" / "crm-1.0.0").mkdir()
    yield


async def test_a_new_installation_records_nothing(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):  # the second start finds a used folder
        async with started(folder) as secrets:
            assert secrets.recorded == frozenset()

    assert (folder / "state" / "plugins" / FILE).read_text() == "[]"
    assert f"it is not bound to them. An operator can add to `secrets` of the toolbox: {LINE}" in caplog.text


async def test_what_is_in_use_at_an_upgrade_keeps_working_with_a_warning(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with after_an_upgrade(folder):
        async with started(folder) as secrets:
            assert await secrets.of_plugin("crm").resolve("KEY", host="api.crm.example:443") == "a long secret"

    assert f"secrets were bound. To keep it, add to `secrets` of the toolbox: {LINE}" in caplog.text


async def test_a_plugin_that_changes_after_the_record_gets_no_secret(folder: Path) -> None:
    with after_an_upgrade(folder):
        async with started(folder):
            pass
    write_plugin(folder, url="https://attacker.example")
    write_plugin(folder, "fresh")
    async with started(folder) as secrets:
        assert secrets.recorded == {USE}
        for plugin, host in (("crm", "attacker.example:443"), ("fresh", "api.crm.example:443")):
            with pytest.raises(Exception, match="it is not bound to them"):
                await secrets.of_plugin(plugin).resolve("KEY", host=host)


async def test_what_is_bound_is_neither_recorded_nor_warned_of(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    binding = {"name": "KEY", "plugins": ["crm"], "hosts": ["api.crm.example"]}
    with after_an_upgrade(folder):
        async with started(folder, toolbox={"secrets": [binding]}) as secrets:
            assert await secrets.of_plugin("crm").resolve("KEY", host="api.crm.example:443") == "a long secret"

    assert (folder / "state" / "plugins" / FILE).read_text() == "[]"
    assert "KEY" not in caplog.text


@pytest.mark.parametrize("binding", [{"name": "KEY"}, {"name": "*", "plugins": ["crm"]}, {"name": "KEY", "hosts": []}])
def test_a_binding_to_nothing_is_a_configuration_error(binding: dict[str, Any]) -> None:
    toolbox = {"type": "plugins", "folders": ["plugins"], "secrets": [binding]}

    with pytest.raises(ConfigError):
        config.parse(yaml.safe_dump({"toolboxes": {"ops": toolbox}}), environ={})


@pytest.mark.parametrize("is_upgrade", [True, False])
async def test_servers_of_a_database_share_the_first_record(is_upgrade: bool) -> None:
    async with migrated_database() as url, SqlThreads(connect(url)) as threads:
        store = threads.secret_uses
        assert store is not None
        if is_upgrade:
            await threads._database.write(mark_upgraded)
        first = await store.settle("plugins", [USE])
        later = [SecretUse("fresh", "KEY", "evil.example:443")]
        second = await SqlSecretUses(threads._database).settle("plugins", later)

    assert list(first) == list(second) == ([USE] if is_upgrade else [])


def mark_upgraded(connection: Any) -> None:
    connection.execute(secret_uses.insert(), {"toolbox": "", "uses": "[]"})
