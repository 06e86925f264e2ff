"""Resolves `$ref` within the document and the files of the plugin's folder; other targets are errors."""

import posixpath
from urllib.parse import unquote, urlsplit

from rightseat.config.document import KeyPath
from rightseat.core.types import split_pointer
from rightseat.plugins.loading import yaml_json
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import PluginLimits
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode, root

NodeKey = tuple[str, KeyPath]


class References:
    def __init__(self, document: SourceNode, files: Files, limits: PluginLimits, report: DiagnosticReport) -> None:
        self._files = files
        self._limits = limits
        self._report = report
        self._roots: dict[str, SourceNode | None] = {document.source.file: document}
        self._inside: dict[NodeKey, list[SourceNode]] = {}
        self._recursive: dict[NodeKey, bool] = {}

    def follow(self, node: SourceNode) -> SourceNode | None:
        """Return the node itself or the final target of its reference; None if it has none, which is reported."""
        seen: set[NodeKey] = set()
        current: SourceNode | None = node
        while current is not None and has_reference(current):
            if node_key(current) in seen:
                self._report.add("E211", node, "the reference is circular.")
                return None
            seen.add(node_key(current))
            current = self.find_target(current)
        return current

    def find_target(self, node: SourceNode, *, quiet: bool = False) -> SourceNode | None:
        """Resolve one reference, which may lead to another one."""
        ref = node.value["$ref"]
        found = self._find(ref, node.source.file) if isinstance(ref, str) else None
        if found is None and not quiet:
            place = node.get("$ref") or node
            hint = "it must point into this document, or into a file of the plugin's folder"
            self._report.add("E211", place, f"the reference {str(ref)[:200]!r} cannot be resolved.", hint)
        return found

    def is_recursive(self, node: SourceNode) -> bool:
        """Whether references inside the node lead back to it."""
        if node_key(node) not in self._recursive:
            self._recursive[node_key(node)] = self._leads_back(node)
        return self._recursive[node_key(node)]

    def _leads_back(self, node: SourceNode) -> bool:
        seen: set[NodeKey] = set()
        todo = list(self._references_in(node))
        while todo:
            one = todo.pop()
            if node_key(one) == node_key(node):
                return True
            if node_key(one) not in seen:
                seen.add(node_key(one))
                todo += self._references_in(one)
        return False

    def _references_in(self, node: SourceNode) -> list[SourceNode]:
        known = self._inside.get(node_key(node))
        if known is None:
            known = self._inside[node_key(node)] = []
            todo = [node]
            while todo:
                one = todo.pop()
                if has_reference(one) and (found := self.find_target(one, quiet=True)) is not None:
                    known.append(found)
                todo += [child for _, child in one.items()]
                todo += one.elements()
        return known

    def _find(self, ref: str, file: str) -> SourceNode | None:
        try:
            address = urlsplit(ref)
        except ValueError:
            return None
        if address.scheme or address.netloc or address.query or address.path.startswith("/"):
            return None
        name = posixpath.normpath(posixpath.join(posixpath.dirname(file), unquote(address.path)))
        current = self._root(name if address.path else file)
        try:
            steps = split_pointer(unquote(address.fragment))
        except ValueError:
            return None
        for step in steps:
            current = current and _get_child(current, step)
        return current

    def _root(self, file: str) -> SourceNode | None:
        if file not in self._roots:
            readable = file in self._files and file.endswith((".yaml", ".yml", ".json"))
            found = yaml_json.read(file, self._files, self._limits, self._report) if readable else None
            self._roots[file] = found and root(found.source)
        return self._roots[file]


def has_reference(node: SourceNode) -> bool:
    return isinstance(node.value, dict) and "$ref" in node.value


def node_key(node: SourceNode) -> NodeKey:
    return node.source.file, node.path


def _get_child(node: SourceNode, step: str) -> SourceNode | None:
    if isinstance(node.value, list) and step.isdecimal() and len(step) < 10 and int(step) < len(node.value):
        return SourceNode(node.source, (*node.path, int(step)), node.value[int(step)])
    return node.get(step)
