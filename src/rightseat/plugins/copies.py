"""Copies of plugins by digest, in the state folder: a run finds the very files that it began with again."""

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

ACTIVE = "active.json"
DIGEST = re.compile(r"[0-9a-f]{64}")
"""The name of a folder of copies; bundled databases are kept beside them."""


class Copies:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, identity: Identity) -> Path:
        """The last part is the plugin's id, as that of any plugin's folder is."""
        return self.folder / identity.digest / identity.id

    def keep(self, identity: Identity, files: Files) -> Path:
        """Whole or not at all: it is written beside, and then renamed. One that was changed is written anew."""
        place = self.path(identity)
        if place.is_dir() and is_same(place, files):
            return place
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
        try:
            write(files, beside)
            beside.rename(place)
        except FileExistsError:
            pass  # another process was quicker, with the same files
        except OSError:
            if not place.is_dir():
                raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        return place

    def remember(self, active: Mapping[str, Identity]) -> None:
        """Which versions are active, for the next start."""
        self.folder.mkdir(parents=True, exist_ok=True)
        told = {one.id: {"version": one.version, "digest": one.digest} for one in active.values()}
        beside = self.folder / f".{ACTIVE}.{os.getpid()}"
        beside.write_text(json.dumps(told, indent=2), encoding="utf-8")
        beside.replace(self.folder / ACTIVE)

    def recall(self) -> dict[str, Identity]:
        try:
            told = json.loads((self.folder / ACTIVE).read_text(encoding="utf-8"))
            return {id: Identity(id, one["version"], one["digest"]) for id, one in told.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

    def use(self, identity: Identity) -> None:
        """Note that it is used now; for whoever asks later, and for other processes with the same folder."""
        with suppress(FileNotFoundError):
            os.utime(self.path(identity).parent)

    def remove_unused(self, since: float, needed: Collection[Identity]) -> list[str]:
        """The digests of copies that nobody has used since then (by the clock), and that were removed."""
        kept = {one.digest for one in needed}
        gone: list[str] = []
        for place in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if not DIGEST.fullmatch(place.name) or place.name in kept or not place.is_dir():
                continue
            if place.stat().st_mtime < since:
                shutil.rmtree(place)
                gone.append(place.name)
        return gone


def is_same(folder: Path, files: Files) -> bool:
    """Does the folder have these files and no others?"""
    there = {str(one.relative_to(folder)) for one in folder.rglob("*") if not one.is_dir() or one.is_symlink()}
    return there == set(files) and all(
        not (folder / path).is_symlink() and (folder / path).read_bytes() == content for path, content in files.items()
    )


def write(files: Files, folder: Path) -> None:
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
