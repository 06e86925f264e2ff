"""Loads a plugin folder into a `Plugin` and reports diagnostics; a single error means that nothing is loaded.

    result = load(Path("plugins/weather"))
    for diagnostic in result.diagnostics:
        print(diagnostic)

The loader never runs or imports plugin code and never downloads anything.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rightseat.plugins.definition import Flow, Identity, Plugin, list_token_urls
from rightseat.plugins.diagnostics import Diagnostic, Mode
from rightseat.plugins.loading import automatic, flows, metadata, openapi, private_addresses, tools, yaml_json
from rightseat.plugins.loading import files as folders
from rightseat.plugins.loading.context import LoadContext
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import OperatorSettings, PluginLimits
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode

__all__ = ["LoadResult", "OperatorSettings", "PluginLimits", "load", "load_files"]

LIMITS = PluginLimits()
OPERATOR = OperatorSettings()
CASES_FILE = "tests/cases.yaml"
_KNOWN_FOLDERS = ("lib/", "data/", "demo/", "flows/", "tests/")
_KNOWN_FILE_PREFIXES = ("readme", "license", "icon.")


@dataclass(frozen=True, slots=True)
class LoadResult:
    """`plugin` is None if any diagnostic is an error."""

    plugin: Plugin | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> list[Diagnostic]:
        return [one for one in self.diagnostics if one.severity == "error"]


def load(
    folder: Path, mode: Mode = "compat", limits: PluginLimits = LIMITS, operator: OperatorSettings = OPERATOR
) -> LoadResult:
    """Load a folder, whose name is the plugin's id. Raises `OSError` if it does not exist."""
    report = DiagnosticReport(mode)
    folder = folder.resolve()
    files = folders.read_folder(folder, limits, report)
    return _load(folder, files, limits, operator, report)


def load_files(
    folder: Path,
    files: Files,
    mode: Mode = "compat",
    limits: PluginLimits = LIMITS,
    operator: OperatorSettings = OPERATOR,
) -> LoadResult:
    """Load `files` as if they were in `folder`, which need not exist yet."""
    return _load(folder, files, limits, operator, DiagnosticReport(mode))


def _load(
    folder: Path, files: Files, limits: PluginLimits, operator: OperatorSettings, report: DiagnosticReport
) -> LoadResult:
    if yaml_json.METADATA not in files and report.has_error:
        return LoadResult(None, report.diagnostics)  # plugin.json may be one of the files that could not be read
    if yaml_json.METADATA not in files:
        report.add_file("E106", yaml_json.METADATA, "plugin.json is missing.", "create one with `rightseat plugin new`")
        return LoadResult(None, report.diagnostics)
    node = yaml_json.read(yaml_json.METADATA, files, limits, report)
    if node is None:
        return LoadResult(None, report.diagnostics)
    plugin = _Assembly(folder, files, limits, operator, report).build(node)
    return LoadResult(None if report.has_error else plugin, report.diagnostics)


class _Assembly:
    def __init__(
        self, folder: Path, files: Files, limits: PluginLimits, operator: OperatorSettings, report: DiagnosticReport
    ) -> None:
        self._folder = folder
        self._files = files
        self._limits = limits
        self._operator = operator
        self._report = report

    def build(self, node: SourceNode) -> Plugin:
        manifest = metadata.read(node, self._folder.name, self._files, self._operator, self._report)
        for auth in manifest.auth:
            for url in list_token_urls(auth):
                self._check_address(manifest, node.get("auth") or node, url)
        api = self._read_api(manifest)
        lib = tools.compute_digest(self._files, self._report)
        context = LoadContext(api.operations, manifest.databases, tools.find_identifiers(self._files, self._report))
        own = self._read_flows(context)
        made = automatic.build_flows(api.operations) if manifest.is_automatic else {}
        if manifest.is_automatic:
            self._check_automatic(node, made, own)
        every = made | {flow.name: flow for flow, _ in own}
        every = {name: flow for name, flow in every.items() if not _is_replaced(flow, made, own)}
        for flow, written in own:
            flows.check_next_flows(flow, written, self._folder.name, every, self._report)
        self._check_rest(node, api, every, lib)
        self._check_data(manifest)
        return Plugin(
            Identity(self._folder.name.lower(), manifest.version, folders.compute_digest(self._files)),
            self._folder,
            manifest.words,
            manifest.i18n,
            manifest.auth,
            manifest.allow_private,
            metadata.resolve_database_paths(manifest.databases, self._folder),
            api.server,
            api.operations,
            self._disable_lib_flows(every, lib, node),
            lib,
        )

    def _read_api(self, manifest: metadata.Metadata) -> openapi.ApiDefinition:
        names = [name for name in openapi.FILE_NAMES if name in self._files]
        if len(names) > 1:
            self._report.add_file("E105", names[1], f"the folder has both {' and '.join(names)}.", "keep one")
        document = yaml_json.read(names[0], self._files, self._limits, self._report) if names else None
        if document is None:
            return openapi.ApiDefinition()
        check = partial(self._check_address, manifest)
        return openapi.read(document, self._files, manifest.auth, self._limits, self._operator, self._report, check)

    def _check_address(self, manifest: metadata.Metadata, node: SourceNode, url: str) -> None:
        id = self._folder.name.lower()
        private_addresses.check(node, url, id, manifest.allow_private, self._report)

    def _read_flows(self, context: LoadContext) -> list[tuple[Flow, SourceNode]]:
        paths = sorted(path for path in self._files if _is_flow(path))
        if len(paths) > self._limits.max_flows:
            self._report.add_file("E108", paths[-1], f"the plugin has more than {self._limits.max_flows} flows.")
            return []
        found: list[tuple[Flow, SourceNode]] = []
        names: dict[str, str] = {}
        for path in paths:
            node = yaml_json.read(path, self._files, self._limits, self._report)
            flow = None if node is None else flows.read(node, context, self._limits, self._report)
            if flow is None or node is None:
                continue
            first = names.setdefault(flow.name.casefold(), path)
            if first != path:
                message = f"the flow {flow.name!r} is already defined in {first}."
                self._report.add("E301", node.get("name") or node, message, "names ignore upper and lower case")
            found.append((flow, node))
        return found

    def _check_automatic(self, node: SourceNode, made: dict[str, Flow], own: list[tuple[Flow, SourceNode]]) -> None:
        place = node.get("automatic_flow") or node
        if not made:
            self._report.add("W601", place, "`automatic_flow` has no effect: there are no operations.")
        if len(made) > automatic.MANY_FLOWS:
            message = f"{len(made)} flows are generated from operations; models choose less reliably among so many."
            self._report.add("W602", place, message, "write flows for the questions that users ask")
        names = {name.casefold() for name in made}
        for flow, written in own:
            if flow.name.casefold() in names:
                message = f"this file replaces the flow {flow.name!r} that was generated from an operation."
                self._report.add("I601", written.get("name") or written, message)

    def _disable_lib_flows(self, every: dict[str, Flow], lib: str | None, node: SourceNode) -> dict[str, Flow]:
        if lib is None or lib in self._operator.lib:
            return every
        message = "lib/ is not allowed to run yet; flows that use it are disabled."
        self._report.add_file("W702", tools.PACKAGE, message, f"allow the digest {lib}")
        return {name: replace(flow, enabled=not _uses_lib(flow)) for name, flow in every.items()}

    def _check_rest(
        self, node: SourceNode, api: openapi.ApiDefinition, every: dict[str, Flow], lib: str | None
    ) -> None:
        if not api.operations and not every and lib is None:
            message = "the plugin does nothing: it has no operation, no flow and no tool."
            self._report.add("W102", node, message)
        for path in self._files:
            if not _is_known_path(path):
                self._report.add_file("I100", path, f"{path} is not part of the plugin format; it is ignored.")

    def _check_data(self, manifest: metadata.Metadata) -> None:
        """Report files that later stages could not parse: catalogs and cases as YAML, the others as text."""
        catalogs = {str(one.catalog) for one in manifest.databases.values() if one.catalog}
        for path in self._files:
            if path == CASES_FILE or (path in catalogs and path.endswith((".yaml", ".yml", ".json"))):
                yaml_json.read(path, self._files, self._limits, self._report)
            elif path.startswith(("data/", "tests/")) and path.endswith((".yaml", ".yml", ".json", ".sql")):
                yaml_json.decode(path, self._files[path], self._report)


def _is_replaced(flow: Flow, made: dict[str, Flow], own: list[tuple[Flow, SourceNode]]) -> bool:
    """A flow file replaces the generated flow of the same name; names ignore upper and lower case."""
    names = {one.name.casefold() for one, _ in own}
    return made.get(flow.name) is flow and flow.name.casefold() in names


def _uses_lib(flow: Flow) -> bool:
    steps: Iterator[object] = iter((*flow.steps.values(), flow.on_error))
    return any(getattr(step, "is_lib", False) for step in steps)


def _is_flow(path: str) -> bool:
    return path.startswith("flows/") and path.count("/") == 1 and path.endswith((".yaml", ".yml"))


def _is_known_path(path: str) -> bool:
    name = path.lower()
    if "/" not in path:
        return path in (yaml_json.METADATA, *openapi.FILE_NAMES) or name.startswith(_KNOWN_FILE_PREFIXES)
    return _is_flow(path) if path.startswith("flows/") else path.startswith(_KNOWN_FOLDERS)
