"""Reads the folder of a plugin: all of it or, where anything is an error, nothing; and says what it thinks of it.

    loaded = load(Path("plugins/weather"))
    for one in loaded.diagnostics:
        print(one)

Nothing of a plugin is run, imported or downloaded here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rightseat.plugins.definition import Flow, Identity, Plugin
from rightseat.plugins.diagnostics import Diagnostic, Mode
from rightseat.plugins.loading import automatic, flows, metadata, openapi, reading, tools
from rightseat.plugins.loading import files as folders
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import Limits, Operator
from rightseat.plugins.loading.notes import Node, Notes
from rightseat.plugins.loading.params import Surroundings

__all__ = ["Limits", "Loaded", "Operator", "load", "load_files"]

LIMITS = Limits()
OPERATOR = Operator()
CASES = "tests/cases.yaml"
_FOLDERS = ("lib/", "data/", "demo/", "flows/", "tests/")
_BESIDE = ("readme", "license", "icon.")


@dataclass(frozen=True, slots=True)
class Loaded:
    """`plugin` is None where a diagnostic is an error."""

    plugin: Plugin | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> list[Diagnostic]:
        return [one for one in self.diagnostics if one.severity == "error"]


def load(folder: Path, mode: Mode = "compat", limits: Limits = LIMITS, operator: Operator = OPERATOR) -> Loaded:
    """The name of the folder is the plugin's id. Raises `OSError` where there is no such folder."""
    notes = Notes(mode)
    folder = folder.resolve()
    files = folders.gather(folder, limits, notes)
    return _load(folder, files, limits, operator, notes)


def load_files(
    folder: Path, files: Files, mode: Mode = "compat", limits: Limits = LIMITS, operator: Operator = OPERATOR
) -> Loaded:
    """As if `files` stood in `folder`, which need not be there yet."""
    return _load(folder, files, limits, operator, Notes(mode))


def _load(folder: Path, files: Files, limits: Limits, operator: Operator, notes: Notes) -> Loaded:
    if reading.METADATA not in files and notes.has_error:
        return Loaded(None, notes.found)  # it may be among what was not read
    if reading.METADATA not in files:
        notes.add_file("E106", reading.METADATA, "there is no plugin.json.", "`rightseat plugin new` writes one")
        return Loaded(None, notes.found)
    node = reading.read(reading.METADATA, files, limits, notes)
    if node is None:
        return Loaded(None, notes.found)
    plugin = _Assembly(folder, files, limits, operator, notes).build(node)
    return Loaded(None if notes.has_error else plugin, notes.found)


class _Assembly:
    def __init__(self, folder: Path, files: Files, limits: Limits, operator: Operator, notes: Notes) -> None:
        self._folder = folder
        self._files = files
        self._limits = limits
        self._operator = operator
        self._notes = notes

    def build(self, node: Node) -> Plugin:
        about = metadata.read(node, self._folder.name, self._files, self._operator, self._notes)
        api = self._read_api(about)
        lib = tools.digest(self._files, self._notes)
        around = Surroundings(api.operations, about.databases, tools.words(self._files, self._notes))
        own = self._read_flows(around)
        made = automatic.flows(api.operations) if about.is_automatic else {}
        if about.is_automatic:
            self._check_automatic(node, made, own)
        every = made | {flow.name: flow for flow, _ in own}
        every = {name: flow for name, flow in every.items() if not _is_replaced(flow, made, own)}
        for flow, written in own:
            flows.check_next(flow, written, self._folder.name, every, self._notes)
        self._check_rest(node, api, every, lib)
        self._check_data(about)
        return Plugin(
            Identity(self._folder.name.lower(), about.version, folders.digest(self._files)),
            self._folder,
            about.words,
            about.i18n,
            about.auth,
            about.allow_private,
            metadata.placed(about.databases, self._folder),
            api.server,
            api.operations,
            self._enabled(every, lib, node),
            lib,
        )

    def _read_api(self, about: metadata.Metadata) -> openapi.Api:
        there = [name for name in openapi.NAMES if name in self._files]
        if len(there) > 1:
            self._notes.add_file("E105", there[1], f"there are {' and '.join(there)}.", "keep one")
        document = reading.read(there[0], self._files, self._limits, self._notes) if there else None
        if document is None:
            return openapi.Api()
        return openapi.read(document, self._files, about.auth, self._limits, self._operator, self._notes)

    def _read_flows(self, around: Surroundings) -> list[tuple[Flow, Node]]:
        paths = sorted(path for path in self._files if _is_flow(path))
        if len(paths) > self._limits.flows:
            self._notes.add_file("E108", paths[-1], f"there are more than {self._limits.flows} flows.")
            return []
        found: list[tuple[Flow, Node]] = []
        names: dict[str, str] = {}
        for path in paths:
            node = reading.read(path, self._files, self._limits, self._notes)
            flow = None if node is None else flows.read(node, around, self._limits, self._notes)
            if flow is None or node is None:
                continue
            first = names.setdefault(flow.name.casefold(), path)
            if first != path:
                said = f"the flow {flow.name!r} is in {first} already."
                self._notes.add("E301", node.get("name") or node, said, "upper and lower case are one")
            found.append((flow, node))
        return found

    def _check_automatic(self, node: Node, made: dict[str, Flow], own: list[tuple[Flow, Node]]) -> None:
        place = node.get("automatic_flow") or node
        if not made:
            self._notes.add("W601", place, "`automatic_flow` makes nothing: there are no operations.")
        if len(made) > automatic.MANY:
            said = f"{len(made)} flows are made of operations; choosing among so many goes wrong more often."
            self._notes.add("W602", place, said, "write flows for what is asked")
        names = {name.casefold() for name in made}
        for flow, written in own:
            if flow.name.casefold() in names:
                said = f"this file replaces the flow {flow.name!r} made of an operation."
                self._notes.add("I601", written.get("name") or written, said)

    def _enabled(self, every: dict[str, Flow], lib: str | None, node: Node) -> dict[str, Flow]:
        if lib is None or lib in self._operator.lib:
            return every
        said = "lib/ is not allowed to run yet; flows that use it are disabled."
        self._notes.add_file("W702", tools.PACKAGE, said, f"allow the digest {lib}")
        return {name: replace(flow, enabled=not _uses_lib(flow)) for name, flow in every.items()}

    def _check_rest(self, node: Node, api: openapi.Api, every: dict[str, Flow], lib: str | None) -> None:
        if not api.operations and not every and lib is None:
            said = "the plugin does nothing: it has no operation, no flow and no tool."
            self._notes.add("W102", node, said)
        for path in self._files:
            if not _is_known(path):
                self._notes.add_file("I100", path, f"{path} is not part of the format; it is not read.")

    def _check_data(self, about: metadata.Metadata) -> None:
        """What others read later can be read: catalogs and cases as YAML, the rest as text."""
        catalogs = {str(one.catalog) for one in about.databases.values() if one.catalog}
        for path in self._files:
            if path == CASES or (path in catalogs and path.endswith((".yaml", ".yml", ".json"))):
                reading.read(path, self._files, self._limits, self._notes)
            elif path.startswith(("data/", "tests/")) and path.endswith((".yaml", ".yml", ".json", ".sql")):
                reading.decode(path, self._files[path], self._notes)


def _is_replaced(flow: Flow, made: dict[str, Flow], own: list[tuple[Flow, Node]]) -> bool:
    """A flow made of an operation gives way to a file's, also where only upper and lower case differ."""
    names = {one.name.casefold() for one, _ in own}
    return made.get(flow.name) is flow and flow.name.casefold() in names


def _uses_lib(flow: Flow) -> bool:
    steps: Iterator[object] = iter((*flow.steps.values(), flow.on_error))
    return any(getattr(step, "is_lib", False) for step in steps)


def _is_flow(path: str) -> bool:
    return path.startswith("flows/") and path.count("/") == 1 and path.endswith((".yaml", ".yml"))


def _is_known(path: str) -> bool:
    name = path.lower()
    if "/" not in path:
        return path in (reading.METADATA, *openapi.NAMES) or name.startswith(_BESIDE)
    return _is_flow(path) if path.startswith("flows/") else path.startswith(_FOLDERS)
