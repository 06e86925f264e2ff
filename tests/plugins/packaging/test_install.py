"""Archives that are refused, and what happens to those that are not."""

import gzip
import io
import json
import os
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rightseat.plugins.loading import PluginLimits
from rightseat.plugins.packaging import archive as packages
from rightseat.plugins.packaging import install
from rightseat.plugins.packaging.archive import PackageRefused
from rightseat.plugins.packaging.versions import write_files
from tests.plugins.loading.sample import FLOW, METADATA, SAMPLE

GOOD = [(f"sample/{path}", text.encode()) for path, text in SAMPLE.items()]
Entries = list[tuple[str, bytes]]
Pack = Callable[[Path, Entries], Path]


def pack_zip(folder: Path, entries: Entries) -> Path:
    path = folder / "p.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that is given twice, which is what is tried
        for name, content in entries:
            info = zipfile.ZipInfo("placeholder")
            info.filename = name
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return path


def pack_tar(folder: Path, entries: Entries) -> Path:
    path = folder / "p.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture(params=[pack_zip, pack_tar], ids=["zip", "tar.gz"])
def pack(request: pytest.FixtureRequest) -> Pack:
    found: Pack = request.param
    return found


def refused(path: Path, limits: PluginLimits = PluginLimits()) -> str:  # noqa: B008
    with pytest.raises(PackageRefused) as error:
        packages.read(path, limits)
    return error.value.reason


def test_R_14_an_archive_is_read(pack: Pack, tmp_path: Path) -> None:
    found = packages.read(pack(tmp_path, GOOD), PluginLimits())

    assert found.id == "sample"
    assert found.files == {path: text.encode() for path, text in SAMPLE.items()}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sample/../../evil", "traversal"),
        ("../evil", "traversal"),
        ("sample/./x", "traversal"),
        ("sample//x", "traversal"),
        ("/etc/evil", "absolute"),
        ("C:/evil", "absolute"),
        ("sample\\..\\evil", "backslash"),
        ("sample/" + "x" * 200, "long_name"),
        ("sample/" + "查" * 70, "long_name"),
        ("sample/Plugin.json", "duplicate"),
        ("sample/plugin.json", "duplicate"),
        ("sample/plugin.json/x", "duplicate"),
        ("other/plugin.json", "top"),
        ("loose.txt", "top"),
        ("sample/a\nb", "name"),
    ],
)
def test_R_17_10_paths_outside_the_folder_are_refused(pack: Pack, tmp_path: Path, name: str, reason: str) -> None:
    assert refused(pack(tmp_path, [*GOOD, (name, b"x")])) == reason


def test_R_14_a_nul_in_a_name_is_refused(tmp_path: Path) -> None:
    path = pack_zip(tmp_path, [*GOOD, ("sample/aXb", b"x")])
    path.write_bytes(path.read_bytes().replace(b"aXb", b"a\0b"))

    assert refused(path) == "nul"


def test_R_14_a_name_that_begins_with_a_nul_is_refused(tmp_path: Path) -> None:
    path = pack_zip(tmp_path, [*GOOD, ("qqq", b"x")])
    path.write_bytes(path.read_bytes().replace(b"qqq", b"\0qq"))

    assert refused(path) == "nul"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_R_17_10_links_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "p.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("sample/link")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)

    assert refused(path) == "link"


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE])
def test_R_14_special_files_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "p.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("sample/special")
        info.type = kind
        archive.addfile(info)

    assert refused(path) == "special"


@pytest.mark.parametrize(("mode", "reason"), [(stat.S_IFLNK, "link"), (stat.S_IFIFO, "special")])
def test_R_17_10_links_and_special_files_in_a_zip_are_refused(tmp_path: Path, mode: int, reason: str) -> None:
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("sample/link")
        info.external_attr = (mode | 0o777) << 16
        archive.writestr(info, "/etc/passwd")

    assert refused(path) == reason


def test_R_14_links_and_special_files_in_a_folder_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    write_files({path: text.encode() for path, text in SAMPLE.items()}, folder)
    os.mkfifo(folder / "pipe")

    assert refused(folder) == "link"


def test_R_17_10_a_decompression_bomb_is_refused(pack: Pack, tmp_path: Path) -> None:
    assert refused(pack(tmp_path, [*GOOD, ("sample/data/zeros", b"\0" * 5_000_000)])) == "bomb"


def test_R_14_the_sizes_in_the_headers_of_an_archive_are_not_trusted(tmp_path: Path) -> None:
    path = pack_zip(tmp_path, [("sample/a", os.urandom(3000))])
    path.write_bytes(path.read_bytes().replace((3000).to_bytes(4, "little"), (10).to_bytes(4, "little")))

    assert refused(path, PluginLimits(max_bytes=2000)) in ("limits", "unreadable")


def test_R_14_an_oversized_tar_header_is_refused(tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 900_000_000
    path = tmp_path / "p.tar.gz"
    with gzip.open(path, "wb") as file:
        file.write(header.tobuf())
        for _ in range(60):
            file.write(b"\0" * 1_000_000)

    assert refused(path) == "limits"


@pytest.mark.parametrize("limits", [PluginLimits(max_files=2), PluginLimits(max_bytes=1000)])
def test_R_14_an_archive_over_the_limits_is_refused(pack: Pack, tmp_path: Path, limits: PluginLimits) -> None:
    assert refused(pack(tmp_path, GOOD), limits) == "limits"


def test_R_14_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    path = pack_zip(tmp_path, GOOD)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)

    assert refused(path) == "encrypted"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no", b"\x1f\x8b no", b"text"])
def test_R_14_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.zip"
    path.write_bytes(content)

    assert refused(path) == "unreadable"


def test_R_14_a_missing_archive_is_reported(tmp_path: Path) -> None:
    assert refused(tmp_path / "nothing.zip") == "unreadable"


def test_R_14_the_permissions_of_a_plugin_are_listed_before_it_is_installed(pack: Pack, tmp_path: Path) -> None:
    about = {
        **json.loads(METADATA),
        "network": {"allow_private": ["10.0.0.5:80"]},
        "databases": {"sales": {}},
        "auth": {
            "type": "oidc",
            "args": {"token_url": "https://id.example/t", "client_id": "a", "client_secret": "${secret:S}"},
        },
    }
    flow = FLOW.replace("endpoint: GET /things/{id}\n", "endpoint: start_job\n    dangerous: true\n")
    files = {**SAMPLE, "plugin.json": json.dumps(about), "flows/look_up.yaml": flow}
    files["lib/__init__.py"] = "exported = []"

    entries = [(f"sample/{path}", text.encode()) for path, text in files.items()]

    prospect = install.plan_install(packages.read(pack(tmp_path, entries), PluginLimits()))

    summary = prospect.summary
    assert summary.hosts == ("api.example.com", "id.example")
    assert summary.private == ("10.0.0.5:80",)
    assert summary.secrets == ("S",)
    assert summary.databases == ("sales",)
    assert summary.lib is not None
    assert summary.dangerous == ("POST /jobs",)
    assert len(summary.lines()) == 6


def test_R_14_a_plugin_is_installed_as_a_whole(pack: Pack, tmp_path: Path) -> None:
    into = tmp_path / "plugins"
    prospect = install.plan_install(packages.read(pack(tmp_path, GOOD), PluginLimits()))

    place = install.install(prospect, into)

    assert place == into / "sample"
    assert (place / "plugin.json").read_text() == METADATA
    assert [one.name for one in into.iterdir()] == ["sample"]


def test_R_14_a_new_version_replaces_the_old_one_as_a_whole(pack: Pack, tmp_path: Path) -> None:
    into = tmp_path / "plugins"
    write_files({"old.txt": b"x"}, into / "sample")

    install.install(install.plan_install(packages.read(pack(tmp_path, GOOD), PluginLimits())), into)

    assert not (into / "sample" / "old.txt").exists()
    assert [one.name for one in into.iterdir()] == ["sample"]


def test_R_14_a_plugin_with_errors_does_not_replace_the_installed_one(pack: Pack, tmp_path: Path) -> None:
    into = tmp_path / "plugins"
    write_files({"old.txt": b"x"}, into / "sample")
    prospect = install.plan_install(packages.read(pack(tmp_path, [("sample/plugin.json", b"{")]), PluginLimits()))

    with pytest.raises(PackageRefused, match="E102"):
        install.install(prospect, into)

    assert (into / "sample" / "old.txt").exists()


def test_R_3_5_a_secret_in_plugin_json_is_moved_to_the_secret_store(pack: Pack, tmp_path: Path) -> None:
    literal = METADATA.replace("Bearer ${secret:SAMPLE}", "sk-canary")
    entries = [("sample/plugin.json", literal.encode()), *GOOD[1:]]

    prospect = install.plan_install(packages.read(pack(tmp_path, entries), PluginLimits()))
    place = install.install(prospect, tmp_path / "plugins")

    assert prospect.summary.moved == {"SAMPLE_AUTHORIZATION": "sk-canary"}
    assert "canary" not in (place / "plugin.json").read_text()
    assert "canary" not in repr(prospect)
    assert "canary" not in "".join(prospect.summary.lines())
    assert prospect.loaded.plugin is not None
    assert prospect.loaded.plugin.auth[0].args == {"Authorization": "${secret:SAMPLE_AUTHORIZATION}"}
