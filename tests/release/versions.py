"""Where the version is written, and the changelog of a release."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

PLACES = {
    "src/rightseat/__init__.py": r'(?m)^__version__ = "(.+)"$',
    "deploy/helm/rightseat/Chart.yaml": r'(?m)^(?:version: |appVersion: ")([\d.]+)"?$',
    "deploy/helm/rightseat/values.yaml": r"(?m)^  name: rightseat:([\d.]+)$",
    "docs/how-to/deploy-on-kubernetes.md": r"registry\.example\.com/rightseat:([\d.]+)",
    "docs/reference/command-line.md": r"(?m)^rightseat (\d[\d.]+)$",
    "README.md": r"(?m)^rightseat (\d[\d.]+)$",
}
"""Each file with an expression whose group is the version."""
VERSION = re.compile(r"\d+\.\d+\.\d+")
UNRELEASED = "## Unreleased\n"
HEADING = re.compile(r"(?m)^## (\d+\.\d+\.\d+)\b.*$")


def set_version(root: Path, version: str) -> None:
    """Write the version everywhere. A place that has none any more is an error."""
    if not VERSION.fullmatch(version):
        raise ValueError(f"{version!r} is no version: write it as 1.2.3.")
    for name, pattern in PLACES.items():
        file = root / name
        text, count = re.subn(pattern, lambda match: put(match, version), file.read_text())
        if not count:
            raise ValueError(f"{name} has no version where {pattern!r} expects it.")
        file.write_text(text)


def put(match: re.Match[str], version: str) -> str:
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:start] + version + match[0][end:]


def find_versions(root: Path) -> Iterator[tuple[str, str]]:
    for name, pattern in PLACES.items():
        for version in re.findall(pattern, (root / name).read_text()):
            yield name, version


def date_changelog(text: str, version: str, today: date) -> str:
    """The section of the version gets its date. Without one, what is under *Unreleased* becomes its section."""
    heading = f"## {version} - {today.isoformat()}"
    if HEADING.search(text) and version in HEADING.findall(text):
        pending = text.partition(UNRELEASED)[2].partition("\n## ")[0]
        if UNRELEASED in text and pending.strip():
            raise ValueError(
                f"CHANGELOG.md has a section for {version}, and lines under Unreleased: move them into it."
            )
        return re.sub(rf"(?m)^## {re.escape(version)}\b.*$", heading, text, count=1)
    if UNRELEASED not in text:
        raise ValueError(f"CHANGELOG.md has neither a section for {version} nor one that is Unreleased.")
    return text.replace(UNRELEASED, f"{UNRELEASED}\n{heading}\n", 1)


def read_notes(text: str, version: str) -> str:
    """The section of the version: the text of its release."""
    section = re.split(rf"(?m)^## {re.escape(version)}\b.*$", text, maxsplit=1)[1]
    return re.split(r"(?m)^## ", section, maxsplit=1)[0].strip() + "\n"
