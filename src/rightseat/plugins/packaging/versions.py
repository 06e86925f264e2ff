"""Keeps copies of plugin versions by digest, so that a run always uses the files with which it began."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from rightseat.plugins.definition import Identity
from rightseat.plugins.loading.files import Files

ACTIVE_FILE = "active.json"
DIGEST_PATTERN = re.compile(r"[0-9a-f]{64}")
"""Names of version folders; the same folder also holds bundled databases."""


class VersionStore:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, identity: Identity) -> Path:
        """Return the folder of a version; its last part is the plugin's id, as for any plugin folder."""
        return self.folder / identity.digest / identity.id

    def find(self, id: str, digest: str) -> Path | None:
        """Return the folder of a stored version. Both names may come from a client."""
        parent = self.folder / digest
        if not DIGEST_PATTERN.fullmatch(digest) or not parent.is_dir():
            return None
        return next((one for one in parent.iterdir() if one.name == id and one.is_dir()), None)

    def keep(self, identity: Identity, files: Files) -> Path:
        """Write atomically, by renaming a temporary folder. A modified copy is replaced."""
        target = self.path(identity)
        if target.is_dir() and has_same_files(target, files):
            return target
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".new-", dir=target.parent))
        try:
            write_files(files, beside)
            beside.rename(target)
        except FileExistsError:
            pass  # another process has written the same files
        except OSError:
            if not target.is_dir():
                raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        return target

    def remember(self, active: Mapping[str, Identity]) -> None:
        """Store which versions are active, for the next start."""
        self.folder.mkdir(parents=True, exist_ok=True)
        versions = {one.id: {"version": one.version, "digest": one.digest} for one in active.values()}
        beside = self.folder / f".{ACTIVE_FILE}.{os.getpid()}"
        beside.write_text(json.dumps(versions, indent=2), encoding="utf-8")
        beside.replace(self.folder / ACTIVE_FILE)

    def recall(self) -> dict[str, Identity]:
        try:
            versions = json.loads((self.folder / ACTIVE_FILE).read_text(encoding="utf-8"))
            return {id: Identity(id, one["version"], one["digest"]) for id, one in versions.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def use(self, identity: Identity) -> None:
        """Record the current time as last use, visible to other processes that share the folder."""
        with suppress(FileNotFoundError):
            os.utime(self.path(identity).parent)

    def remove_unused(self, since: float, needed: Collection[Identity]) -> list[str]:
        """Remove versions that were not used since that time (wall clock), and return their digests."""
        kept = {one.digest for one in needed}
        removed: list[str] = []
        for target in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if not DIGEST_PATTERN.fullmatch(target.name) or target.name in kept or not target.is_dir():
                continue
            if target.stat().st_mtime < since:
                shutil.rmtree(target)
                removed.append(target.name)
        return removed


def has_same_files(folder: Path, files: Files) -> bool:
    """Whether the folder contains exactly these files."""
    there = {str(one.relative_to(folder)) for one in folder.rglob("*") if not one.is_dir() or one.is_symlink()}
    return there == set(files) and all(
        not (folder / path).is_symlink() and (folder / path).read_bytes() == content for path, content in files.items()
    )


def write_files(files: Files, folder: Path) -> None:
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
