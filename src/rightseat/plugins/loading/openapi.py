"""openapi.yaml → the address of the server and its operations."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rightseat.plugins.definition import Auth, Operation
from rightseat.plugins.loading import servers
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import Limits, Operator
from rightseat.plugins.loading.notes import Node, Notes
from rightseat.plugins.loading.operations import OperationReader
from rightseat.plugins.loading.references import References
from rightseat.plugins.loading.schemas import Translator

NAMES = ("openapi.yaml", "openapi.yml", "openapi.json")
METHODS = ("get", "post", "put", "patch", "delete", "head")
ORIGINAL_METHODS = ("get", "post")
BESIDE_METHODS = ("summary", "description", "parameters", "servers", "$ref")


@dataclass(frozen=True, slots=True)
class Api:
    server: str = ""
    operations: Mapping[str, Operation] = field(default_factory=dict)


def read(document: Node, files: Files, auth: tuple[Auth, ...], limits: Limits, operator: Operator, notes: Notes) -> Api:
    if not isinstance(document.value, dict):
        notes.add("E231", document, "the document should be a mapping.")
        return Api()
    version = _check_version(document, notes)
    if version is None:
        return Api()
    _check_info(document, notes)
    server = servers.read(document, operator, notes)
    references = References(document, files, limits, notes)
    translator = Translator(references, limits, notes, is_old=version.startswith("3.0"))
    reader = OperationReader(references, translator, auth, notes)
    return Api(server, _read_paths(document, reader, references, limits, notes))


def _check_version(document: Node, notes: Notes) -> str | None:
    node = document.get("openapi")
    if node is None:
        old = document.get("swagger")
        if old is not None:
            notes.add("E201", old, "this is OpenAPI 2.0.", "convert it to 3.0 or 3.1")
        else:
            notes.add("E204", document, "`openapi` is missing.", "openapi: 3.1.0")
        return None
    version = str(node.value)
    if version.startswith(("3.0", "3.1")):
        return version
    notes.add("E201", node, f"OpenAPI {version[:20]} is not read here.", "3.0 or 3.1")
    return None


def _check_info(document: Node, notes: Notes) -> None:
    info = document.get("info")
    for key in ("title", "version"):
        if info is None or info.get(key) is None:
            notes.add("W201", info or document, f"`info.{key}` is missing.", "OpenAPI asks for it")


def _read_paths(
    document: Node, reader: OperationReader, references: References, limits: Limits, notes: Notes
) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    paths = document.get("paths")
    if paths is not None and not isinstance(paths.value, dict | None):
        notes.add("E231", paths, "`paths` should be a mapping.")
    for path, written in paths.items() if paths else ():
        if path.startswith("x-"):
            continue
        item = references.follow(written)
        if not path.startswith("/") or item is None or not isinstance(item.value, dict):
            notes.add("E231", written, f"{path!r} should begin with / and be a mapping.", at="key")
            continue
        if item.get("servers") is not None:
            notes.add("W213", item, "servers of a path are ignored.", "give them at the top", at="key")
        for method, node in item.items():
            if _is_read(method, node, notes):
                if len(found) >= limits.operations:
                    notes.add("E108", node, f"there are more than {limits.operations} operations.", at="key")
                    return found
                operation = reader.read(method, path, node, item)
                found[operation.name] = operation
    return found


def _is_read(method: str, node: Node, notes: Notes) -> bool:
    if method.startswith("x-") or method in BESIDE_METHODS:
        return False
    if method not in METHODS:
        said = f"the method {method!r} is ignored."
        notes.add("W204", node, said, f"read are: {', '.join(METHODS)}", at="key")
        return False
    if not isinstance(node.value, dict):
        notes.add("E231", node, "an operation should be a mapping.", at="key")
        return False
    if method not in ORIGINAL_METHODS:
        notes.add("W203", node, f"the original allows get and post, not {method}.", at="key")
    return True
