"""The plugins of a server: the active versions, and earlier ones that runs still need.

    async with PluginRegistry([Path("plugins")], Path(".rightseat/plugins")) as registry:
        weather = registry.plugins()["weather"]

A plugin is loaded from a copy stored by its digest: changes in its folder have no effect until `reload`, and a run that
resumes after a restart finds its own version. Folders are not watched. A copy is removed when no run has used it for as
long as a question may stay open, and a day (`remove_unused`).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from rightseat.core.errors import RightseatError
from rightseat.plugins import loading
from rightseat.plugins.definition import Identity, Plugin
from rightseat.plugins.diagnostics import Diagnostic, Mode
from rightseat.plugins.loading import LoadResult, OperatorSettings, PluginLimits
from rightseat.plugins.loading.files import Files, check_limits, is_ignored, list_folder, read_folder
from rightseat.plugins.loading.nodes import DiagnosticReport
from rightseat.plugins.loading.yaml_json import METADATA
from rightseat.plugins.packaging.versions import VersionStore, write_files

logger = logging.getLogger(__name__)


class PluginGone(RightseatError, KeyError):
    """This version of the plugin is neither active nor stored."""

    code = "plugin_gone"
    status = 410

    def __init__(self, identity: Identity) -> None:
        super().__init__(f"The plugin {identity.id} {identity.version} ({identity.digest[:12]}) is no longer stored.")
        self.identity = identity

    def __str__(self) -> str:
        return str(self.args[0])


def find_plugin_folders(folders: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return (the folders of single plugins, those of `folders` that do not exist)."""
    found: list[Path] = []
    missing: list[Path] = []
    for folder in folders:
        if (folder / METADATA).is_file():
            found.append(folder.resolve())
        elif folder.is_dir():
            inside = sorted(one for one in folder.iterdir() if one.is_dir() and not is_ignored(one.name))
            found += [one.resolve() for one in inside]
        else:
            missing.append(folder)
    return found, missing


class PluginRegistry:
    """Each of `folders` is a plugin or holds plugins. `operator` returns the operator's settings for a plugin id."""

    def __init__(
        self,
        folders: Sequence[Path],
        state: Path,
        *,
        mode: Mode = "compat",
        limits: PluginLimits = loading.LIMITS,
        operator: Callable[[str], OperatorSettings] = lambda id: loading.OPERATOR,
    ) -> None:
        self._folders = tuple(folders)
        self._copies = VersionStore(state)
        self._mode = mode
        self._limits = limits
        self._operator = operator
        self._active: dict[str, Plugin] = {}
        self._earlier: dict[Identity, Plugin] = {}
        self._diagnostics: dict[str, tuple[Diagnostic, ...]] = {}
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self.reload()
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._earlier.clear()

    def plugins(self) -> Mapping[str, Plugin]:
        """The active plugins by id."""
        return dict(self._active)

    def diagnostics(self, id: str) -> tuple[Diagnostic, ...]:
        """The diagnostics of the last load, even if it failed and an earlier version stayed active."""
        return self._diagnostics.get(id, ())

    def folders(self) -> dict[str, Path]:
        """The folders of plugins by id, of broken ones too. Reads the file system."""
        found: dict[str, Path] = {}
        for folder in find_plugin_folders(self._folders)[0]:
            found.setdefault(folder.name.lower(), folder)
        return found

    def find_parent(self) -> Path | None:
        """The folder for new plugins: the first that holds plugins. Reads the file system."""
        holding = (one for one in self._folders if one.is_dir() and not (one / METADATA).is_file())
        return next(holding, None)

    def load_new(self, id: str, files: Files) -> LoadResult:
        """Load a plugin that has no folder yet. Nothing is stored or run."""
        report = DiagnosticReport(self._mode)
        check_limits(files, self._limits, report)
        loaded = loading.load_files(Path("/") / id, files, self._mode, self._limits, self._operator(id))
        plugin = None if report.has_error else loaded.plugin
        return LoadResult(plugin, (*report.diagnostics, *loaded.diagnostics))

    def list_files(self, folder: Path) -> list[tuple[str, int]]:
        """The paths and sizes of the files in the folder of a plugin. Raises `OSError`."""
        return list_folder(folder, self._limits)

    def load_draft(self, folder: Path, changed: Files) -> LoadResult:
        """Load the folder with the changed files in place of its own. Nothing is stored or run. Raises `OSError`."""
        return self._load_changed(folder, changed)[1]

    def store_draft(self, folder: Path, changed: Files, into: Path) -> LoadResult:
        """Write the draft into the empty folder `into`, whose name is the plugin's id, and load it from there."""
        files, loaded = self._load_changed(folder, changed)
        if loaded.plugin is None:
            return loaded
        write_files(files, into)
        operator = self._operator(folder.name.lower())
        stored = loading.load_files(into, files, self._mode, self._limits, operator)
        return LoadResult(stored.plugin, loaded.diagnostics)

    async def reload(self, id: str | None = None) -> Mapping[str, tuple[Diagnostic, ...]]:
        """Reload one plugin, or all. A plugin with errors keeps its last version; one without a folder is removed."""
        async with self._lock:
            found = await asyncio.to_thread(self._load_all, id)
            active = {name: plugin for name, plugin in self._active.items() if id is not None and name != id}
            for name, loaded in found.items():
                self._diagnostics[name] = loaded.diagnostics
                plugin = loaded.plugin or self._active.get(name) or await asyncio.to_thread(self._load_last, name)
                if loaded.plugin is None:
                    state = "is not loaded" if plugin is None else f"stays at version {plugin.identity.version}"
                    logger.warning("The plugin %s has errors and %s: %s", name, state, loaded.errors[0])
                if plugin is not None:
                    active[name] = plugin
            self._earlier |= {plugin.identity: plugin for plugin in self._active.values()}
            self._active = active
            await asyncio.to_thread(self._copies.remember, {one.id: one.identity for one in active.values()})
            return {name: loaded.diagnostics for name, loaded in found.items()}

    def find(self, identity: Identity) -> Plugin:
        """The version of a run, active or not. Raises `PluginGone`."""
        current = self._active.get(identity.id)
        if current is not None and current.identity == identity:
            return current
        plugin = self._earlier.get(identity) or self._load_copy(identity)
        if plugin is None:
            raise PluginGone(identity)
        self._earlier[identity] = plugin
        return plugin

    async def find_digest(self, id: str, digest: str) -> Plugin | None:
        """The version of a plugin with this digest, active or stored; None if there is no copy of it."""
        for plugin in (*self._active.values(), *self._earlier.values()):
            if (plugin.id, plugin.identity.digest) == (id, digest):
                return plugin
        stored = await asyncio.to_thread(self._load_digest, id, digest)
        if stored is not None:
            self._earlier[stored.identity] = stored
        return stored

    def mark_used(self, identity: Identity) -> None:
        """Record that a run starts or resumes with this plugin."""
        self._copies.use(identity)

    async def remove_unused(self, unused_s: float) -> list[str]:
        """Remove inactive copies that no run has used for so many seconds. Returns their digests.

        Active copies are marked as used, so that another process with the same folder does not remove them.
        """
        async with self._lock:
            active = [plugin.identity for plugin in self._active.values()]
            for identity in active:
                self._copies.use(identity)
            removed = await asyncio.to_thread(self._copies.remove_unused, time.time() - unused_s, active)
            for identity in [one for one in self._earlier if one.digest in removed]:
                del self._earlier[identity]
        for digest in removed:
            logger.info("Removed the plugin copy %s: no run has used it for %g s.", digest[:12], unused_s)
        return removed

    def _load_all(self, id: str | None) -> dict[str, LoadResult]:
        found: dict[str, LoadResult] = {}
        folders, missing = find_plugin_folders(self._folders)
        for folder in missing:
            logger.warning("The plugin folder %s does not exist.", folder)
        for folder in folders:
            name = folder.name.lower()
            if id is None or name == id:
                if name in found:
                    logger.warning("The plugin %s is in two folders; %s is ignored.", name, folder)
                    continue
                found[name] = self._load(folder)
        return found

    def _load(self, folder: Path) -> LoadResult:
        """Check the files of the folder first, then load the plugin from a copy."""
        files, loaded = self._load_changed(folder, {})
        if loaded.plugin is None:
            return loaded
        copy = self._copies.keep(loaded.plugin.identity, files)
        operator = self._operator(folder.name.lower())
        stored = loading.load_files(copy, files, self._mode, self._limits, operator)
        return LoadResult(stored.plugin, loaded.diagnostics)

    def _load_changed(self, folder: Path, changed: Files) -> tuple[dict[str, bytes], LoadResult]:
        report = DiagnosticReport(self._mode)
        files = read_folder(folder, self._limits, report) | dict(changed)
        if changed:
            check_limits(files, self._limits, report)
        loaded = loading.load_files(folder, files, self._mode, self._limits, self._operator(folder.name.lower()))
        plugin = None if report.has_error else loaded.plugin
        return files, LoadResult(plugin, (*report.diagnostics, *loaded.diagnostics))

    def _load_last(self, id: str) -> Plugin | None:
        """The version that was active before the server restarted."""
        identity = self._copies.recall().get(id)
        return None if identity is None else self._load_copy(identity)

    def _load_copy(self, identity: Identity) -> Plugin | None:
        """Return None if there is no copy, or if it was changed."""
        plugin = self._load_digest(identity.id, identity.digest)
        return plugin if plugin is not None and plugin.identity == identity else None

    def _load_digest(self, id: str, digest: str) -> Plugin | None:
        """Return None if there is no copy, or if it was changed."""
        copy = self._copies.find(id, digest)
        if copy is None:
            return None
        loaded = loading.load(copy, self._mode, self._limits, self._operator(id))
        if loaded.plugin is None or (loaded.plugin.id, loaded.plugin.identity.digest) != (id, digest):
            logger.error("The copy of the plugin %s in %s was modified; it is not used.", id, copy)
            return None
        return loaded.plugin
