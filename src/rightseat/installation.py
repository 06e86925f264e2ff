"""The command that adds an extra to this installation, which came from a folder, a repository, a file or an index."""

import json
import os
import shlex
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from rightseat.core.types import JsonValue

PACKAGE = "rightseat"


def install_command(extra: str) -> str:
    """Such as `pip install '.[mcp]'`."""
    return command_for(find_origin(), extra, installs_with_uv=is_installed_by_uv())


def missing_extra(extra: str) -> str:
    """For a message that a client may receive, which has no path of this machine."""
    return f"install the extra {extra!r} of rightseat on the server"


@cache
def find_origin() -> dict[str, JsonValue]:
    """What the installer wrote about an installation from elsewhere than an index; empty for one from an index."""
    found: Any = json.loads(_read("direct_url.json") or "{}")
    return found if isinstance(found, dict) else {}


@cache
def is_installed_by_uv() -> bool:
    """Its environments may have no pip."""
    return (_read("INSTALLER") or "").strip() == "uv"


def _read(name: str) -> str | None:
    try:
        return metadata.distribution(PACKAGE).read_text(name)
    except metadata.PackageNotFoundError:
        return None


def command_for(origin: dict[str, JsonValue], extra: str, *, installs_with_uv: bool = False) -> str:
    installer = "uv pip install" if installs_with_uv else "pip install"
    url = str(origin.get("url", ""))
    if (vcs := origin.get("vcs_info")) and isinstance(vcs, dict):
        revision = vcs.get("requested_revision")
        at = f"@{revision}" if revision else ""
        source = f"{vcs.get('vcs')}+{url}{at}"
        return f"{installer} {shlex.quote(f'{PACKAGE}[{extra}] @ {source}')}"
    if url.startswith("file:"):
        return _command_for_path(installer, Path(unquote(urlsplit(url).path)), extra, origin)
    if url:
        return f"{installer} {shlex.quote(f'{PACKAGE}[{extra}] @ {url}')}"
    return f"{installer} {shlex.quote(f'{PACKAGE}[{extra}]')}"


def _command_for_path(installer: str, path: Path, extra: str, origin: dict[str, JsonValue]) -> str:
    """A folder or file that is gone, such as one of a build of an image, has left its list of packages."""
    if not path.exists():
        return f"{installer} {' '.join(shlex.quote(package) for package in packages_of(extra))}"
    info = origin.get("dir_info")
    is_editable = isinstance(info, dict) and bool(info.get("editable"))
    shown = "." if path.is_dir() and path == Path(os.curdir).absolute() else str(path)
    return f"{installer} {'-e ' if is_editable else ''}{shlex.quote(f'{shown}[{extra}]')}"


def packages_of(extra: str) -> list[str]:
    """The requirements of an extra, as this installation lists them."""
    marker = f'extra == "{extra}"'
    try:
        listed = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        listed = []
    found = [line.partition(";")[0].strip() for line in listed if marker in line.replace("'", '"')]
    return found or [f"{PACKAGE}[{extra}]"]
