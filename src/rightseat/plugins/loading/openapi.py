"""Reads an OpenAPI document: the server's address and its operations."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rightseat.plugins.definition import Auth, Operation
from rightseat.plugins.loading import servers
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import OperatorSettings, PluginLimits
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode
from rightseat.plugins.loading.operations import OperationReader
from rightseat.plugins.loading.references import References
from rightseat.plugins.loading.schemas import SchemaTranslator

FILE_NAMES = ("openapi.yaml", "openapi.yml", "openapi.json")
METHODS = ("get", "post", "put", "patch", "delete", "head")
ORIGINAL_METHODS = ("get", "post")
PATH_ITEM_KEYS = ("summary", "description", "parameters", "servers", "$ref")


@dataclass(frozen=True, slots=True)
class ApiDefinition:
    server: str = ""
    operations: Mapping[str, Operation] = field(default_factory=dict)


def read(
    document: SourceNode,
    files: Files,
    auth: tuple[Auth, ...],
    limits: PluginLimits,
    operator: OperatorSettings,
    report: DiagnosticReport,
    check_address: servers.CheckAddress,
) -> ApiDefinition:
    if not isinstance(document.value, dict):
        report.add("E231", document, "the document should be a mapping.")
        return ApiDefinition()
    version = _check_version(document, report)
    if version is None:
        return ApiDefinition()
    _check_info(document, report)
    server = servers.read(document, operator, report, check_address)
    references = References(document, files, limits, report)
    translator = SchemaTranslator(references, limits, report, is_openapi_30=version.startswith("3.0"))
    reader = OperationReader(references, translator, auth, report)
    return ApiDefinition(server, _read_paths(document, reader, references, limits, report))


def _check_version(document: SourceNode, report: DiagnosticReport) -> str | None:
    node = document.get("openapi")
    if node is None:
        old = document.get("swagger")
        if old is not None:
            report.add("E201", old, "this is OpenAPI 2.0.", "convert it to 3.0 or 3.1")
        else:
            report.add("E204", document, "`openapi` is missing.", "openapi: 3.1.0")
        return None
    version = str(node.value)
    if version.startswith(("3.0", "3.1")):
        return version
    report.add("E201", node, f"OpenAPI {version[:20]} is not supported.", "use 3.0 or 3.1")
    return None


def _check_info(document: SourceNode, report: DiagnosticReport) -> None:
    info = document.get("info")
    for key in ("title", "version"):
        if info is None or info.get(key) is None:
            report.add("W201", info or document, f"`info.{key}` is missing.", "OpenAPI requires it")


def _read_paths(
    document: SourceNode,
    reader: OperationReader,
    references: References,
    limits: PluginLimits,
    report: DiagnosticReport,
) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    paths = document.get("paths")
    if paths is not None and not isinstance(paths.value, dict | None):
        report.add("E231", paths, "`paths` should be a mapping.")
    for path, written in paths.items() if paths else ():
        if path.startswith("x-"):
            continue
        item = references.follow(written)
        if not path.startswith("/") or item is None or not isinstance(item.value, dict):
            report.add("E231", written, f"{path!r} should begin with / and be a mapping.", at="key")
            continue
        if item.get("servers") is not None:
            report.add("W213", item, "`servers` of a path is ignored.", "declare servers at the top level", at="key")
        for method, node in item.items():
            if _is_supported(method, node, report):
                if len(found) >= limits.max_operations:
                    report.add(
                        "E108", node, f"the document has more than {limits.max_operations} operations.", at="key"
                    )
                    return found
                operation = reader.read(method, path, node, item)
                found[operation.name] = operation
    return found


def _is_supported(method: str, node: SourceNode, report: DiagnosticReport) -> bool:
    if method.startswith("x-") or method in PATH_ITEM_KEYS:
        return False
    if method not in METHODS:
        message = f"the method {method!r} is ignored."
        report.add("W204", node, message, f"supported: {', '.join(METHODS)}", at="key")
        return False
    if not isinstance(node.value, dict):
        report.add("E231", node, "an operation should be a mapping.", at="key")
        return False
    if method not in ORIGINAL_METHODS:
        report.add("W203", node, f"the original allows get and post, not {method}.", at="key")
    return True
