"""Plugins that are active, and those that runs still need."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from rightseat.core.model import Model
from rightseat.plugins import collection
from rightseat.plugins.definition import Identity
from rightseat.plugins.flows import Dependencies
from rightseat.plugins.loading import OperatorSettings
from rightseat.plugins.packaging.versions import write_files
from rightseat.plugins.registry import PluginGone, PluginRegistry
from tests.conditions import until
from tests.plugins.loading.sample import METADATA, SAMPLE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "plugins" / "sample"
    write_files({path: text.encode() for path, text in SAMPLE.items()}, place)
    return place


def registry(folder: Path) -> PluginRegistry:
    return PluginRegistry([folder.parent], folder.parents[1] / "state")


DAY = 24 * 3600.0


def grow_old(place: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(place, (then, then))


def say(folder: Path, version: str) -> None:
    (folder / "plugin.json").write_text(METADATA.replace("1.2.3", version))


async def test_R_1_3_a_plugin_with_an_error_keeps_its_earlier_version(folder: Path) -> None:
    async with registry(folder) as plugins:
        (folder / "plugin.json").write_text("{")

        told = await plugins.reload("sample")

        assert plugins.plugins()["sample"].identity.version == "1.2.3"
        assert [one.code for one in told["sample"]] == ["E102"]
        assert plugins.diagnostics("sample") == told["sample"]


async def test_R_1_3_the_earlier_version_stays_after_a_restart(folder: Path) -> None:
    async with registry(folder) as plugins:
        before = plugins.plugins()["sample"].identity
    (folder / "plugin.json").write_text("{")

    async with registry(folder) as plugins:
        assert plugins.plugins()["sample"].identity == before


async def test_R_1_3_a_plugin_that_was_never_valid_is_not_loaded(folder: Path) -> None:
    (folder / "plugin.json").write_text("{")

    async with registry(folder) as plugins:
        assert plugins.plugins() == {}
        assert plugins.diagnostics("sample")


async def test_R_1_5_a_loaded_plugin_is_read_from_its_own_copy(folder: Path) -> None:
    async with registry(folder) as plugins:
        plugin = plugins.plugins()["sample"]
        (folder / "flows" / "look_up.yaml").unlink()

        assert plugin.folder != folder
        assert plugin.folder.name == "sample"
        assert (plugin.folder / "flows" / "look_up.yaml").read_text() == SAMPLE["flows/look_up.yaml"]


async def test_R_11_6_a_run_finds_the_plugin_that_it_began_with(folder: Path) -> None:
    async with registry(folder) as plugins:
        first = plugins.plugins()["sample"]
        say(folder, "2.0.0")
        await plugins.reload()

        assert plugins.plugins()["sample"].identity.version == "2.0.0"
        assert plugins.find(first.identity) is first


async def test_R_11_6_a_run_finds_the_plugin_that_it_began_with_after_a_restart(folder: Path) -> None:
    async with registry(folder) as plugins:
        first = plugins.plugins()["sample"]
    say(folder, "2.0.0")

    async with registry(folder) as plugins:
        found = plugins.find(first.identity)

    assert found == first


async def test_R_11_6_a_plugin_whose_folder_is_gone_is_still_found(folder: Path) -> None:
    async with registry(folder) as plugins:
        first = plugins.plugins()["sample"].identity
        shutil.rmtree(folder)
        await plugins.reload()

        assert plugins.plugins() == {}
        assert plugins.find(first).identity == first


async def test_R_11_6_copies_that_no_run_used_lately_are_removed(folder: Path) -> None:
    async with registry(folder) as plugins:
        versions = [plugins.plugins()["sample"].identity]
        for version in ("2.0.0", "3.0.0"):
            say(folder, version)
            await plugins.reload()
            versions.append(plugins.plugins()["sample"].identity)

        databases = plugins.find(versions[0]).folder.parent.parent / "databases"
        databases.mkdir()

        for one in versions:
            grow_old(plugins.find(one).folder.parent, days=9)
        grow_old(databases, days=9)
        plugins.mark_used(versions[0])

        removed = await plugins.remove_unused(8 * DAY)

        assert databases.is_dir(), "what else is kept there"
        assert removed == [versions[1].digest]
        assert plugins.find(versions[0]).identity == versions[0]
        assert plugins.find(versions[2]).identity == versions[2]
        with pytest.raises(PluginGone, match="no longer stored"):
            plugins.find(versions[1])


async def test_R_11_6_a_running_server_removes_old_copies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "CLEANUP_INTERVAL_S", 0.01)
    plugins = registry(folder)
    async with collection.Collection(plugins, unneeded, question_expiry_s=DAY), asyncio.timeout(30):
        first = plugins.plugins()["sample"]
        say(folder, "2.0.0")
        await plugins.reload()
        grow_old(first.folder.parent, days=1.5)
        assert await plugins.remove_unused(2 * DAY) == [], "somebody may still answer"
        grow_old(first.folder.parent, days=2.5)
        await until(lambda: not first.folder.is_dir())

        assert plugins.plugins()["sample"].folder.is_dir()


def unneeded(model: Model) -> Dependencies:
    raise AssertionError("no flow is run")


async def test_R_11_6_a_copy_in_use_by_one_server_is_not_removed_by_another(folder: Path, tmp_path: Path) -> None:
    other = PluginRegistry([tmp_path / "none"], folder.parents[1] / "state")
    async with registry(folder) as plugins, other:
        active = plugins.plugins()["sample"]
        grow_old(active.folder.parent, days=9)
        await plugins.remove_unused(8 * DAY)

        assert await other.remove_unused(8 * DAY) == []
        assert plugins.find(active.identity) is active


async def test_a_modified_copy_is_not_used(folder: Path) -> None:
    async with registry(folder) as plugins:
        first = plugins.plugins()["sample"]
    (first.folder / "openapi.yaml").write_text(SAMPLE["openapi.yaml"].replace("api.example", "evil.example"))
    say(folder, "2.0.0")

    async with registry(folder) as plugins:
        with pytest.raises(PluginGone):
            plugins.find(first.identity)


async def test_a_modified_copy_is_written_again(folder: Path) -> None:
    async with registry(folder) as plugins:
        copy = plugins.plugins()["sample"].folder
    (copy / "openapi.yaml").write_text("changed")
    (copy / "more.txt").write_text("more")

    async with registry(folder) as plugins:
        assert plugins.plugins()["sample"].folder == copy

    assert (copy / "openapi.yaml").read_text() == SAMPLE["openapi.yaml"]
    assert not (copy / "more.txt").exists()


async def test_reloading_one_plugin_does_not_reload_the_others(folder: Path) -> None:
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    async with registry(folder) as plugins:
        before = plugins.plugins()["other"]
        say(folder, "2.0.0")
        say(other, "2.0.0")

        await plugins.reload("sample")

        assert plugins.plugins()["sample"].identity.version == "2.0.0"
        assert plugins.plugins()["other"] is before


async def test_a_configured_folder_can_be_a_plugin_itself(folder: Path) -> None:
    async with PluginRegistry([folder, folder.parent / "nothing"], folder.parents[1] / "state") as plugins:
        assert list(plugins.plugins()) == ["sample"]


async def test_the_settings_of_the_operator_are_read_for_each_plugin(folder: Path) -> None:
    asked: list[str] = []

    def operator(id: str) -> OperatorSettings:
        asked.append(id)
        return OperatorSettings(secrets=())

    async with PluginRegistry([folder.parent], folder.parents[1] / "state", operator=operator) as plugins:
        assert [one.code for one in plugins.diagnostics("sample")] == ["W113"]
    assert set(asked) == {"sample"}


async def test_an_unknown_plugin_is_not_found(folder: Path) -> None:
    async with registry(folder) as plugins:
        with pytest.raises(PluginGone):
            plugins.find(Identity("sample", "9.9.9", "0" * 64))
