"""A release is made in a clean clone, and refuses what is not fit for one."""

import json
import subprocess
import sys
import tarfile
from datetime import date
from pathlib import Path

import pytest

from rightseat import __version__
from tests.release import licences, versions
from tests.release.steps import ROOT, STEPS, refuse_unfit

TODAY = date(2027, 1, 31)
LOG = "# Changelog\n\n## Unreleased\n\n### Added\n\n- More.\n\n## 0.1.0 - 2026-12-01\n\n- All.\n"


def test_every_place_has_the_version_of_the_code() -> None:
    found = dict(versions.find_versions(ROOT))

    assert found == dict.fromkeys(versions.PLACES, __version__)


def test_a_new_version_is_written_everywhere(tmp_path: Path) -> None:
    copy_places(tmp_path)

    versions.set_version(tmp_path, "12.3.45")

    assert {version for _, version in versions.find_versions(tmp_path)} == {"12.3.45"}
    chart = (tmp_path / "deploy/helm/rightseat/Chart.yaml").read_text()
    assert "\nversion: 12.3.45\n" in chart
    assert '\nappVersion: "12.3.45"\n' in chart


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3rc1", "1.2.3; rm"])
def test_a_version_has_three_numbers(version: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is no version: write it as 1\.2\.3"):
        versions.set_version(tmp_path, version)
    with pytest.raises(ValueError, match=r"is no version: write it as 1\.2\.3"):
        refuse_unfit(tmp_path, version)


def test_a_place_without_a_version_is_an_error(tmp_path: Path) -> None:
    copy_places(tmp_path)
    (tmp_path / "README.md").write_text("# rightseat\n")

    with pytest.raises(ValueError, match=r"README\.md has no version"):
        versions.set_version(tmp_path, "0.2.0")


def test_what_is_unreleased_becomes_the_section_of_the_version() -> None:
    text = versions.date_changelog(LOG, "0.2.0", TODAY)

    assert "## Unreleased\n\n## 0.2.0 - 2027-01-31\n\n### Added\n\n- More.\n\n## 0.1.0 - 2026-12-01\n" in text
    assert versions.read_notes(text, "0.2.0") == "### Added\n\n- More.\n"
    assert versions.read_notes(text, "0.1.0") == "- All.\n"


def test_a_section_that_was_written_before_gets_its_date() -> None:
    text = versions.date_changelog(LOG.replace("### Added\n\n- More.\n\n", ""), "0.1.0", TODAY)

    assert "## 0.1.0 - 2027-01-31\n\n- All.\n" in text
    with pytest.raises(ValueError, match="lines under Unreleased: move them into it"):
        versions.date_changelog(LOG, "0.1.0", TODAY)
    with pytest.raises(ValueError, match=r"neither a section for 0\.3\.0 nor one that is Unreleased"):
        versions.date_changelog(LOG.replace("## Unreleased", "## Later"), "0.3.0", TODAY)


@pytest.mark.parametrize("name", ["", "some-package", "gnu-tools"])
def test_a_licence_that_nobody_has_decided_about_is_a_problem(name: str) -> None:
    bad = {"": "", "some-package": "GPL-3.0-or-later", "gnu-tools": "MIT AND LGPL-2.1-only"}[name]

    (problem,) = licences.find_problems(iter([("good", "MIT License"), (name, bad), ("psycopg", "LGPL-3.0-only")]))

    assert problem.startswith(f"{name} is under ")


def test_the_page_about_the_supply_chain_lists_the_expected_licences() -> None:
    page = (ROOT / "docs" / "contributing" / "supply-chain.md").read_text()

    assert [name for name in licences.EXPECTED if f"`{name}`" not in page.replace("_", "-")] == []


def test_a_checkout_with_changes_is_refused(tmp_path: Path) -> None:
    repository = make_repository(tmp_path)

    refuse_unfit(repository, "0.2.0")
    with pytest.raises(ValueError, match=r"The tag v0\.1\.0 exists"):
        refuse_unfit(repository, "0.1.0")
    (repository / "new").write_text("?")
    with pytest.raises(ValueError, match="changes that are not committed"):
        refuse_unfit(repository, "0.2.0")


def test_the_page_names_every_step() -> None:
    page = (ROOT / "docs" / "contributing" / "release.md").read_text()

    assert [name for name in STEPS if f"| {name} |" not in page] == []


@pytest.mark.night  # it makes three environments
@pytest.mark.whole
def test_all_files_are_made_and_the_checkout_stays_as_it_is(tmp_path: Path) -> None:
    if git(ROOT, "status", "--porcelain"):
        pytest.skip("there are changes that are not committed")
    before = git(ROOT, "log", "-1", "--format=%H") + git(ROOT, "tag", "--list")
    command = (sys.executable, "-m", "tests.release", "9.9.9", "--dry-run", "--to", str(tmp_path / "files"))

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert [name for name in STEPS if f"s  {name}: " not in done.stdout] == []
    made = {file.name for file in (tmp_path / "files").iterdir()}
    assert made == {
        "NOTICES.txt", "SHA256SUMS", "docs", "notes.md", "rightseat-9.9.9-py3-none-any.whl", "rightseat-9.9.9.tar.gz",
        "rightseat-9.9.9.tgz", "rightseat.cdx.json",
    }  # fmt: skip
    assert "psycopg" in (tmp_path / "files" / "NOTICES.txt").read_text()
    assert json.loads((tmp_path / "files/docs/versions.json").read_text())[0]["version"] == "9.9"
    assert (tmp_path / "files/docs/9.9/index.html").exists()
    with tarfile.open(tmp_path / "files" / "rightseat-9.9.9.tgz") as chart:
        assert "rightseat/Chart.yaml" in chart.getnames()
    assert git(ROOT, "log", "-1", "--format=%H") + git(ROOT, "tag", "--list") == before


def copy_places(folder: Path) -> None:
    for name in versions.PLACES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text((ROOT / name).read_text())


def make_repository(folder: Path) -> Path:
    git(folder, "init", "--quiet")
    (folder / "file").write_text("text")
    identity = ("-c", "user.name=Test", "-c", "user.email=test@localhost")
    git(folder, "add", "file")
    git(folder, *identity, "commit", "--quiet", "--message", "One")
    git(folder, "tag", "v0.1.0")
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout
