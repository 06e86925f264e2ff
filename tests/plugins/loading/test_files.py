"""The folder of a plugin: what is read of it, what is refused, and what names it."""

import os
import sys
from pathlib import Path

import pytest

from rightseat.plugins.definition import Plugin
from rightseat.plugins.loading import PluginLimits
from rightseat.plugins.loading import load as load_folder
from rightseat.plugins.packaging.versions import write_files
from tests.plugins.loading.sample import FLOW, METADATA, OPENAPI, SAMPLE, codes, load, one, spoilt


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "sample"
    write_files({path: text.encode() for path, text in SAMPLE.items()}, place)
    return place


def loaded(folder: Path) -> Plugin:
    plugin = load_folder(folder).plugin
    assert plugin is not None
    return plugin


def test_R_1_1_the_name_of_the_folder_is_the_id(folder: Path) -> None:
    other = folder.rename(folder.parent / "renamed")

    found = load_folder(other)

    assert codes(found) == ["W101"]
    assert found.plugin is not None
    assert found.plugin.id == "renamed"


def test_R_1_2_hidden_files_are_ignored_and_unknown_files_reported(folder: Path) -> None:
    before = loaded(folder).identity
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("x")
    (folder / "lib" / "__pycache__").mkdir(parents=True)
    (folder / "lib" / "__pycache__" / "x.pyc").write_bytes(b"\0")
    assert loaded(folder).identity == before

    (folder / "notes.txt").write_text("x")

    assert codes(load_folder(folder)) == ["I100"]


def test_R_1_2_usual_files_of_a_plugin_are_not_reported(folder: Path) -> None:
    for name in ("README.md", "LICENSE", "icon.svg", "demo/server.py", "tests/cases.yaml", "data/a.sql"):
        write_files({name: b""}, folder)

    assert codes(load_folder(folder)) == []


def test_R_1_3_a_plugin_with_an_error_is_not_loaded_at_all() -> None:
    assert load(spoilt("flows/look_up.yaml", "next: which", "next: nowhere")).plugin is None


def test_R_1_4_loading_runs_nothing_of_the_plugin(folder: Path) -> None:
    mark = folder.parent / "was_run"
    write_files({"lib/__init__.py": f"open({str(mark)!r}, 'w')\nname = 'rank'\n".encode()}, folder)
    modules = set(sys.modules)

    load_folder(folder)

    assert not mark.exists()
    assert not {name for name in set(sys.modules) - modules if name.startswith("lib")}


def test_R_1_5_the_identity_changes_with_any_byte_and_any_name(folder: Path) -> None:
    first = loaded(folder).identity
    assert first == loaded(folder).identity
    assert (first.id, first.version, len(first.digest)) == ("sample", "1.2.3", 64)

    (folder / "README.md").write_text("a")
    second = loaded(folder).identity
    (folder / "README.md").rename(folder / "README.txt")

    assert len({first.digest, second.digest, loaded(folder).identity.digest}) == 3


def test_R_1_5_a_loaded_plugin_cannot_be_changed(folder: Path) -> None:
    plugin = loaded(folder)

    with pytest.raises(AttributeError):
        plugin.server = "https://evil.example"  # type: ignore[misc]  # that is what is tried


def test_R_1_6_a_plugin_without_flows_is_reported() -> None:
    assert codes(load({"plugin.json": METADATA})) == ["W102"]


def test_R_1_7_a_byte_order_mark_is_ignored() -> None:
    marked = {path: b"\xef\xbb\xbf" + text.encode() for path, text in SAMPLE.items()}

    assert load(marked).diagnostics == ()


@pytest.mark.parametrize("path", ["lib/__init__.py", "data/a.sql", "tests/cases.yaml", "flows/look_up.yaml"])
def test_R_1_7_other_encodings_are_errors(path: str) -> None:
    found = load({**SAMPLE, path: "name: 查询\n".encode("gbk")})

    assert one(found, "E101").file == path


@pytest.mark.parametrize(
    ("limits", "file"),
    [
        (PluginLimits(max_files=2), "plugin.json"),
        (PluginLimits(max_bytes=1500), "openapi.yaml"),
        (PluginLimits(max_file_bytes=len(OPENAPI) - 1), "openapi.yaml"),
        (PluginLimits(max_flows=0), "flows/look_up.yaml"),
        (PluginLimits(max_steps=3), "flows/look_up.yaml"),
        (PluginLimits(max_operations=1), "openapi.yaml"),
    ],
)
def test_R_1_a_folder_over_the_limits_is_an_error(folder: Path, limits: PluginLimits, file: str) -> None:
    found = load_folder(folder, limits=limits)

    assert found.plugin is None
    assert any(one.code == "E108" and one.file == file for one in found.diagnostics), found.diagnostics


def test_catalogs_and_cases_are_read_as_yaml() -> None:
    about = METADATA.replace('"auth"', '"databases": {"a": {"catalog": "data/a.yaml"}},\n  "auth"')
    found = load({**SAMPLE, "plugin.json": about, "data/a.yaml": "a: 1\na: 2\n", "tests/cases.yaml": "[\n"})

    assert [(one.code, one.file, one.line) for one in found.diagnostics] == [
        ("E202", "data/a.yaml", 2),
        ("E229", "tests/cases.yaml", 2),
    ]


def test_links_and_special_files_are_not_followed(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "passwd").symlink_to("/etc/passwd")
    (folder / "demo").symlink_to("/etc")
    os.mkfifo(folder / "data" / "pipe")

    found = load_folder(folder)

    assert [(one.code, one.file) for one in found.diagnostics] == [
        ("E109", "data/passwd"),
        ("E109", "data/pipe"),
        ("E109", "demo"),
    ]


def test_a_document_in_json_is_read_like_one_in_yaml() -> None:
    as_json = (
        '{"openapi": "3.1.0", "info": {"title": "t", "version": "1"},\n\t"servers": [{"url": "https://a.example"}]}'
    )
    files = {"plugin.json": METADATA, "openapi.json": as_json, "flows/a.yaml": FLOW.replace("api\n", "none\n")}

    found = load(files).plugin

    assert found is not None
    assert found.server == "https://a.example"


def test_a_document_may_end_in_yml_or_be_left_out() -> None:
    without = {path: text for path, text in SAMPLE.items() if path != "openapi.yaml"}

    as_yml = load({**without, "openapi.yml": OPENAPI}).plugin
    none = load({"plugin.json": METADATA, "flows/a.yaml": FLOW.replace("api\n", "none\n")}).plugin

    assert as_yml is not None
    assert as_yml.operations == load().plugin.operations  # type: ignore[union-attr]
    assert none is not None
    assert none.operations == {}


def test_file_names_that_are_not_utf_8_and_endless_folders_are_errors(folder: Path) -> None:
    (folder / os.fsdecode(b"data-\xff")).write_text("x")
    deep = folder / "demo"
    for _ in range(300):
        deep /= "d"
    deep.mkdir(parents=True)

    found = load_folder(folder)

    assert [(one.code, one.file) for one in found.diagnostics] == [("E109", "data-\\udcff"), ("E108", "demo/…")]
    assert found.plugin is None


def test_a_file_that_was_not_read_is_not_reported_as_missing(folder: Path) -> None:
    found = load_folder(folder, limits=PluginLimits(max_bytes=10))

    assert [one.code for one in found.diagnostics] == ["E108"]
