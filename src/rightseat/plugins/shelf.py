"""The plugins of a server: those that are active, and earlier ones that runs still need.

    async with Shelf([Path("plugins")], Path(".rightseat/plugins")) as shelf:
        weather = shelf.plugins()["weather"]

A plugin is read from a copy by its digest, so what happens in its folder changes nothing until it is loaded anew, and
a run that goes on after a restart finds the plugin that it began with. Nothing here watches folders. A copy goes when
no run has used it for as long as a question may wait, and a day (`forget`).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from rightseat.core.errors import RightseatError
from rightseat.plugins import loading
from rightseat.plugins.copies import Copies
from rightseat.plugins.definition import Identity, Plugin
from rightseat.plugins.diagnostics import Diagnostic, Mode
from rightseat.plugins.loading import Limits, Loaded, Operator
from rightseat.plugins.loading import files as folders
from rightseat.plugins.loading.notes import Notes
from rightseat.plugins.loading.reading import METADATA

logger = logging.getLogger(__name__)


class PluginGone(RightseatError, KeyError):
    """No such plugin, neither active nor kept."""

    code = "plugin_gone"
    status = 410

    def __init__(self, identity: Identity) -> None:
        super().__init__(f"The plugin {identity.id} {identity.version} ({identity.digest[:12]}) is not kept any more.")
        self.identity = identity

    def __str__(self) -> str:
        return str(self.args[0])


def places(among: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The folders of single plugins, and those of `among` that are not there."""
    found: list[Path] = []
    missing: list[Path] = []
    for folder in among:
        if (folder / METADATA).is_file():
            found.append(folder.resolve())
        elif folder.is_dir():
            inside = sorted(one for one in folder.iterdir() if one.is_dir() and not folders.is_ignored(one.name))
            found += [one.resolve() for one in inside]
        else:
            missing.append(folder)
    return found, missing


class Shelf:
    """`folders` hold plugins, one folder each, or are plugins themselves. `operator` says what is decided about one."""

    def __init__(
        self,
        folders: Sequence[Path],
        state: Path,
        *,
        mode: Mode = "compat",
        limits: Limits = loading.LIMITS,
        operator: Callable[[str], Operator] = lambda id: loading.OPERATOR,
    ) -> None:
        self._folders = tuple(folders)
        self._copies = Copies(state)
        self._mode = mode
        self._limits = limits
        self._operator = operator
        self._active: dict[str, Plugin] = {}
        self._earlier: dict[Identity, Plugin] = {}
        self._diagnostics: dict[str, tuple[Diagnostic, ...]] = {}
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self.reload()
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._earlier.clear()

    def plugins(self) -> Mapping[str, Plugin]:
        """Those that are active now, by id."""
        return dict(self._active)

    def diagnostics(self, id: str) -> tuple[Diagnostic, ...]:
        """What was found when it was last looked at, also where an earlier version stayed."""
        return self._diagnostics.get(id, ())

    async def reload(self, id: str | None = None) -> Mapping[str, tuple[Diagnostic, ...]]:
        """Load one plugin anew, or all. One that has an error keeps its earlier version; one without a folder goes."""
        async with self._turn:
            found = await asyncio.to_thread(self._look, id)
            active = {name: plugin for name, plugin in self._active.items() if id is not None and name != id}
            for name, loaded in found.items():
                self._diagnostics[name] = loaded.diagnostics
                plugin = loaded.plugin or self._active.get(name) or await asyncio.to_thread(self._last, name)
                if loaded.plugin is None:
                    what = "is not loaded" if plugin is None else f"stays at version {plugin.identity.version}"
                    logger.warning("The plugin %s has errors and %s: %s", name, what, loaded.errors[0])
                if plugin is not None:
                    active[name] = plugin
            self._earlier |= {plugin.identity: plugin for plugin in self._active.values()}
            self._active = active
            await asyncio.to_thread(self._copies.remember, {one.id: one.identity for one in active.values()})
            return {name: loaded.diagnostics for name, loaded in found.items()}

    def find(self, identity: Identity) -> Plugin:
        """The plugin of a run, active or not. Raises `PluginGone`."""
        current = self._active.get(identity.id)
        if current is not None and current.identity == identity:
            return current
        known = self._earlier.get(identity) or self._kept(identity)
        if known is None:
            raise PluginGone(identity)
        self._earlier[identity] = known
        return known

    def use(self, identity: Identity) -> None:
        """A run begins with it, or goes on."""
        self._copies.use(identity)

    async def forget(self, unused_for: float) -> list[str]:
        """Remove the copies that are not active, and that no run has used for so many seconds. Returns their digests.

        Active ones count as used, so that no other who has the same folder takes them for old.
        """
        async with self._turn:
            active = [plugin.identity for plugin in self._active.values()]
            for identity in active:
                self._copies.use(identity)
            gone = await asyncio.to_thread(self._copies.remove_unused, time.time() - unused_for, active)
            for identity in [one for one in self._earlier if one.digest in gone]:
                del self._earlier[identity]
        for digest in gone:
            logger.info("A plugin's copy %s was removed: no run has used it for %g s.", digest[:12], unused_for)
        return gone

    def _look(self, id: str | None) -> dict[str, Loaded]:
        found: dict[str, Loaded] = {}
        found_in, missing = places(self._folders)
        for folder in missing:
            logger.warning("There is no folder %s; no plugins are loaded from it.", folder)
        for folder in found_in:
            name = folder.name.lower()
            if id is None or name == id:
                if name in found:
                    logger.warning("The plugin %s is in two folders; the one in %s is not used.", name, folder)
                    continue
                found[name] = self._load(folder)
        return found

    def _load(self, folder: Path) -> Loaded:
        """The copy is what is loaded, once the files are known to be in order."""
        notes = Notes(self._mode)
        operator = self._operator(folder.name.lower())
        files = folders.gather(folder, self._limits, notes)
        loaded = loading.load_files(folder, files, self._mode, self._limits, operator)
        diagnostics = (*notes.found, *loaded.diagnostics)
        if loaded.plugin is None or notes.has_error:
            return Loaded(None, diagnostics)
        place = self._copies.keep(loaded.plugin.identity, files)
        return Loaded(loading.load_files(place, files, self._mode, self._limits, operator).plugin, diagnostics)

    def _last(self, id: str) -> Plugin | None:
        """The version that was active before the server was started."""
        identity = self._copies.recall().get(id)
        return None if identity is None else self._kept(identity)

    def _kept(self, identity: Identity) -> Plugin | None:
        """From its copy, if that is still what it was."""
        place = self._copies.path(identity)
        if not place.is_dir():
            return None
        loaded = loading.load(place, self._mode, self._limits, self._operator(identity.id))
        if loaded.plugin is None or loaded.plugin.identity != identity:
            logger.error("The copy of the plugin %s in %s has been changed; it is not used.", identity.id, place)
            return None
        return loaded.plugin
