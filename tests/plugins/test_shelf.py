"""Plugins that are active, and those that runs still need."""

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from rightseat.core.model import Model
from rightseat.plugins import collection
from rightseat.plugins.copies import write
from rightseat.plugins.definition import Identity
from rightseat.plugins.flows import Means
from rightseat.plugins.loading import Operator
from rightseat.plugins.shelf import PluginGone, Shelf
from tests.plugins.loading.sample import METADATA, SAMPLE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "plugins" / "sample"
    write({path: text.encode() for path, text in SAMPLE.items()}, place)
    return place


def shelf(folder: Path) -> Shelf:
    return Shelf([folder.parent], folder.parents[1] / "state")


DAY = 24 * 3600.0


def grow_old(place: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(place, (then, then))


def say(folder: Path, version: str) -> None:
    (folder / "plugin.json").write_text(METADATA.replace("1.2.3", version))


async def test_R_1_3_a_plugin_with_an_error_keeps_its_earlier_version(folder: Path) -> None:
    async with shelf(folder) as plugins:
        (folder / "plugin.json").write_text("{")

        told = await plugins.reload("sample")

        assert plugins.plugins()["sample"].identity.version == "1.2.3"
        assert [one.code for one in told["sample"]] == ["E102"]
        assert plugins.diagnostics("sample") == told["sample"]


async def test_R_1_3_the_earlier_version_stays_after_a_restart(folder: Path) -> None:
    async with shelf(folder) as plugins:
        before = plugins.plugins()["sample"].identity
    (folder / "plugin.json").write_text("{")

    async with shelf(folder) as plugins:
        assert plugins.plugins()["sample"].identity == before


async def test_R_1_3_a_plugin_that_was_never_right_is_not_there(folder: Path) -> None:
    (folder / "plugin.json").write_text("{")

    async with shelf(folder) as plugins:
        assert plugins.plugins() == {}
        assert plugins.diagnostics("sample")


async def test_R_1_5_a_plugin_stands_in_a_copy_of_its_own(folder: Path) -> None:
    async with shelf(folder) as plugins:
        plugin = plugins.plugins()["sample"]
        (folder / "flows" / "look_up.yaml").unlink()

        assert plugin.folder != folder
        assert plugin.folder.name == "sample"
        assert (plugin.folder / "flows" / "look_up.yaml").read_text() == SAMPLE["flows/look_up.yaml"]


async def test_R_11_6_a_run_finds_the_plugin_that_it_began_with(folder: Path) -> None:
    async with shelf(folder) as plugins:
        first = plugins.plugins()["sample"]
        say(folder, "2.0.0")
        await plugins.reload()

        assert plugins.plugins()["sample"].identity.version == "2.0.0"
        assert plugins.find(first.identity) is first


async def test_R_11_6_it_finds_it_after_a_restart_too(folder: Path) -> None:
    async with shelf(folder) as plugins:
        first = plugins.plugins()["sample"]
    say(folder, "2.0.0")

    async with shelf(folder) as plugins:
        found = plugins.find(first.identity)

    assert found == first


async def test_R_11_6_a_plugin_whose_folder_is_gone_is_still_found(folder: Path) -> None:
    async with shelf(folder) as plugins:
        first = plugins.plugins()["sample"].identity
        shutil.rmtree(folder)
        await plugins.reload()

        assert plugins.plugins() == {}
        assert plugins.find(first).identity == first


async def test_R_11_6_copies_that_no_run_has_used_for_long_are_removed(folder: Path) -> None:
    async with shelf(folder) as plugins:
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
        plugins.use(versions[0])

        gone = await plugins.forget(8 * DAY)

        assert databases.is_dir(), "what else is kept there"
        assert gone == [versions[1].digest]
        assert plugins.find(versions[0]).identity == versions[0]
        assert plugins.find(versions[2]).identity == versions[2]
        with pytest.raises(PluginGone, match="not kept any more"):
            plugins.find(versions[1])


async def test_R_11_6_a_server_removes_old_copies_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "HOUR", 0.01)
    plugins = shelf(folder)
    async with collection.Collection(plugins, unneeded, keeps=DAY), asyncio.timeout(5):
        first = plugins.plugins()["sample"]
        say(folder, "2.0.0")
        await plugins.reload()
        grow_old(first.folder.parent, days=1.5)
        assert await plugins.forget(2 * DAY) == [], "somebody may still answer"
        grow_old(first.folder.parent, days=2.5)
        while first.folder.is_dir():  # noqa: ASYNC110  # a task that tells nobody removes it
            await asyncio.sleep(0.01)

        assert plugins.plugins()["sample"].folder.is_dir()


def unneeded(model: Model) -> Means:
    raise AssertionError("no flow is run")


async def test_R_11_6_what_is_active_for_one_is_not_old_for_another_with_the_same_folder(
    folder: Path, tmp_path: Path
) -> None:
    other = Shelf([tmp_path / "none"], folder.parents[1] / "state")
    async with shelf(folder) as plugins, other:
        active = plugins.plugins()["sample"]
        grow_old(active.folder.parent, days=9)
        await plugins.forget(8 * DAY)

        assert await other.forget(8 * DAY) == []
        assert plugins.find(active.identity) is active


async def test_a_copy_that_was_changed_is_not_used(folder: Path) -> None:
    async with shelf(folder) as plugins:
        first = plugins.plugins()["sample"]
    (first.folder / "openapi.yaml").write_text(SAMPLE["openapi.yaml"].replace("api.example", "evil.example"))
    say(folder, "2.0.0")

    async with shelf(folder) as plugins:
        with pytest.raises(PluginGone):
            plugins.find(first.identity)


async def test_a_copy_that_was_changed_is_written_anew(folder: Path) -> None:
    async with shelf(folder) as plugins:
        copy = plugins.plugins()["sample"].folder
    (copy / "openapi.yaml").write_text("changed")
    (copy / "more.txt").write_text("more")

    async with shelf(folder) as plugins:
        assert plugins.plugins()["sample"].folder == copy

    assert (copy / "openapi.yaml").read_text() == SAMPLE["openapi.yaml"]
    assert not (copy / "more.txt").exists()


async def test_reloading_one_leaves_the_others(folder: Path) -> None:
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    async with shelf(folder) as plugins:
        before = plugins.plugins()["other"]
        say(folder, "2.0.0")
        say(other, "2.0.0")

        await plugins.reload("sample")

        assert plugins.plugins()["sample"].identity.version == "2.0.0"
        assert plugins.plugins()["other"] is before


async def test_a_folder_that_is_a_plugin_is_one(folder: Path) -> None:
    async with Shelf([folder, folder.parent / "nothing"], folder.parents[1] / "state") as plugins:
        assert list(plugins.plugins()) == ["sample"]


async def test_what_the_operator_decided_is_asked_for_each_plugin(folder: Path) -> None:
    asked: list[str] = []

    def operator(id: str) -> Operator:
        asked.append(id)
        return Operator(secrets=())

    async with Shelf([folder.parent], folder.parents[1] / "state", operator=operator) as plugins:
        assert [one.code for one in plugins.diagnostics("sample")] == ["W113"]
    assert set(asked) == {"sample"}


async def test_nobody_is_found_who_never_was(folder: Path) -> None:
    async with shelf(folder) as plugins:
        with pytest.raises(PluginGone):
            plugins.find(Identity("sample", "9.9.9", "0" * 64))
