"""The steps of a release, each in the clean clone. A step returns what it made, in a few words."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tests.archives import extract
from tests.release import licences, versions

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
DOCS = """INHERIT: mkdocs.yml
extra:
  version: {provider: mike, default: latest}
"""
"""Adds the menu of versions, which reads `versions.json` beside the folder of a version."""


class NotHere(Exception):
    """This machine cannot run the step, for this reason."""


@dataclass(frozen=True)
class Release:
    version: str
    clone: Path
    files: Path
    today: date

    @property
    def wheel(self) -> Path:
        return self.files / f"rightseat-{self.version}-py3-none-any.whl"

    @property
    def archive(self) -> Path:
        return self.files / f"rightseat-{self.version}.tar.gz"

    @property
    def tools(self) -> Path:
        """The environment with `requirements/release.txt`."""
        return self.clone.parent / "tools"


def refuse_unfit(root: Path, version: str) -> None:
    if not versions.VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is no version: write it as 1.2.3.")
    if run("git", "status", "--porcelain", folder=root):
        raise ValueError("There are changes that are not committed, and a release would not have them.")
    if run("git", "tag", "--list", f"v{version}", folder=root):
        raise ValueError(f"The tag v{version} exists.")


def clone(release: Release) -> str:
    run("git", "clone", "--quiet", "--no-local", str(ROOT), str(release.clone), folder=ROOT)
    if release.files.exists():
        shutil.rmtree(release.files)
    release.files.mkdir(parents=True)
    return run("git", "log", "-1", "--format=%h %s").strip() or "HEAD"


def set_version(release: Release) -> str:
    versions.set_version(release.clone, release.version)
    log = release.clone / "CHANGELOG.md"
    log.write_text(versions.date_changelog(log.read_text(), release.version, release.today))
    (release.files / "notes.md").write_text(versions.read_notes(log.read_text(), release.version))
    return ", ".join(sorted({name for name, _ in versions.find_versions(release.clone)}))


def commit(release: Release) -> str:
    identity = ("-c", "user.name=rightseat release", "-c", "user.email=release@localhost")
    given = run("git", "config", "user.email", folder=ROOT, may_fail=True).strip()
    title = f"Release {release.version}"
    git = ("git", *(() if given else identity))
    run(*git, "commit", "--quiet", "--all", "--allow-empty", "--message", title, folder=release.clone)
    run(*git, "tag", "--annotate", f"v{release.version}", "--message", title, folder=release.clone)
    return f"v{release.version}"


def build(release: Release) -> str:
    run("hatchling", "build", "--directory", str(release.files), folder=release.clone)
    if not (release.wheel.exists() and release.archive.exists()):
        raise ValueError(f"hatchling built other files: {sorted(file.name for file in release.files.iterdir())}")
    return f"{release.wheel.name}, {release.archive.name}"


def compare_builds(release: Release) -> str:
    """The wheel that the source archive builds has the same files with the same bytes."""
    folder = release.clone.parent / "from-archive"
    with tarfile.open(release.archive) as archive:
        extract(archive, folder)
    source = folder / release.archive.name.removesuffix(".tar.gz")
    run("hatchling", "build", "--target", "wheel", "--directory", str(folder), folder=source)
    first, second = hash_members(release.wheel), hash_members(folder / release.wheel.name)
    if first != second:
        raise ValueError(f"The archive builds another wheel: {sorted(first.items() ^ second.items())[:6]}")
    return f"the archive builds the same {len(first)} files"


def hash_members(wheel: Path) -> Mapping[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def check_metadata(release: Release) -> str:
    make_environment(release.tools, release.clone / "requirements" / "release.txt")
    packages = (str(release.wheel), str(release.archive))
    run(str(release.tools / "bin" / "twine"), "check", "--strict", *packages, folder=release.clone)
    return "twine check --strict"


def try_wheel(release: Release) -> str:
    """In an environment with the core dependencies alone, the command answers."""
    core = release.clone.parent / "core"
    make_environment(core, release.clone / "requirements" / "base.txt")
    run("uv", "pip", "install", "--quiet", "--no-deps", "--python", str(core), str(release.wheel))
    command = str(core / "bin" / "rightseat")
    printed = run(command, "--version", folder=release.clone.parent).strip()
    if printed != f"rightseat {release.version}":
        raise ValueError(f"rightseat --version prints {printed!r}")
    run(command, "ask", "What can you do?", folder=release.clone.parent)
    return f"{printed} answers"


def write_sbom(release: Release) -> str:
    file = release.files / "rightseat.cdx.json"
    generator = str(release.tools / "bin" / "cyclonedx-py")
    place = ("--pyproject", str(release.clone / "pyproject.toml"), "--output-file", str(file))
    run(generator, "environment", *place, str(release.clone.parent / "core" / "bin" / "python"))
    components = json.loads(file.read_text())["components"]
    return f"{file.name}, {len(components)} components"


def write_notices(release: Release) -> str:
    """Of the packages in the image."""
    fleet = release.clone.parent / "fleet"
    make_environment(fleet, release.clone / "requirements" / "fleet.txt")
    file = release.files / "NOTICES.txt"
    printed = run(str(fleet / "bin" / "python"), "-I", licences.__file__, str(file))
    return f"{file.name}, {printed.strip()}, LGPL: psycopg"


def package_chart(release: Release) -> str:
    chart = release.clone / "deploy" / "helm" / "rightseat"
    run("helm", "lint", "--strict", str(chart))
    run("helm", "package", str(chart), "--destination", str(release.files))
    return f"rightseat-{release.version}.tgz; its image has no digest before the image is pushed"


def build_documentation(release: Release) -> str:
    """Below the number of its minor version, with the entry for the menu of versions."""
    short = release.version.rpartition(".")[0]
    config = release.clone / "mkdocs.release.yml"
    config.write_text(DOCS)
    site = release.files / "docs"
    run("mkdocs", "build", "--strict", "--quiet", "--config-file", str(config), "--site-dir", str(site / short))
    entry = {"version": short, "title": release.version, "aliases": ["latest"]}
    (site / "versions.json").write_text(json.dumps([entry], indent=1) + "\n")
    return f"docs/{short}, and versions.json, to which the entries of older versions are added"


def build_image(release: Release) -> str:
    if shutil.which("docker") is None:
        raise NotHere("docker is not installed")
    if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        raise NotHere("no Docker daemon answers")
    name = f"rightseat:{release.version}"
    run("docker", "build", "--tag", name, ".", folder=release.clone)
    printed = run("docker", "run", "--rm", name, "--version").strip()
    return f"{name} prints {printed}"


def write_checksums(release: Release) -> str:
    files = sorted(file for file in release.files.iterdir() if file.is_file())
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (release.files / "SHA256SUMS").write_text("".join(lines))
    return f"SHA256SUMS of {len(files)} files in {release.files}"


def fetch_tag(root: Path, release: Release) -> None:
    """The checkout gets the commit of the clone, if nothing was committed meanwhile, and its tag."""
    run("git", "pull", "--quiet", "--ff-only", str(release.clone), "HEAD", folder=root)
    run(
        "git",
        "fetch",
        "--quiet",
        str(release.clone),
        f"refs/tags/v{release.version}:refs/tags/v{release.version}",
        folder=root,
    )


def make_environment(folder: Path, requirements: Path) -> None:
    run(sys.executable, "-m", "venv", str(folder))
    options = ("--quiet", "--no-deps", "--require-hashes", "--python", str(folder))
    run("uv", "pip", "install", *options, "--requirement", str(requirements))


def run(*command: str, folder: Path = ROOT, may_fail: bool = False) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "PYTHONPATH"))}
    environment["PATH"] = f"{BIN}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode and not may_fail:
        raise ValueError(f"{' '.join(command[:3])} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


STEPS: Mapping[str, Callable[[Release], str]] = {
    "clean clone": clone,
    "version": set_version,
    "commit and tag": commit,
    "wheel and source archive": build,
    "archive against wheel": compare_builds,
    "metadata": check_metadata,
    "base install": try_wheel,
    "SBOM": write_sbom,
    "notices of licences": write_notices,
    "chart": package_chart,
    "documentation": build_documentation,
    "image": build_image,
    "checksums": write_checksums,
}
