"""Follows `$ref`, within the document and to other files of the plugin's folder, and nowhere else."""

import posixpath
from urllib.parse import unquote, urlsplit

from rightseat.config.document import Path
from rightseat.core.values import split_pointer
from rightseat.plugins.loading import reading
from rightseat.plugins.loading.files import Files
from rightseat.plugins.loading.limits import Limits
from rightseat.plugins.loading.notes import Node, Notes, root

Key = tuple[str, Path]


class References:
    def __init__(self, document: Node, files: Files, limits: Limits, notes: Notes) -> None:
        self._files = files
        self._limits = limits
        self._notes = notes
        self._roots: dict[str, Node | None] = {document.source.file: document}
        self._inside: dict[Key, list[Node]] = {}
        self._recursive: dict[Key, bool] = {}

    def follow(self, node: Node) -> Node | None:
        """The node itself, or what its reference leads to in the end; None where it leads nowhere, which is noted."""
        seen: set[Key] = set()
        here: Node | None = node
        while here is not None and has_reference(here):
            if key_of(here) in seen:
                self._notes.add("E211", node, "the reference leads in a circle.")
                return None
            seen.add(key_of(here))
            here = self.target(here)
        return here

    def target(self, node: Node, *, quiet: bool = False) -> Node | None:
        """One step on."""
        said = node.value["$ref"]
        found = self._find(said, node.source.file) if isinstance(said, str) else None
        if found is None and not quiet:
            place = node.get("$ref") or node
            hint = "it may lead to a place in this document, or in a file of the plugin's folder"
            self._notes.add("E211", place, f"the reference {str(said)[:200]!r} leads nowhere.", hint)
        return found

    def is_recursive(self, node: Node) -> bool:
        """Do references inside lead back here?"""
        if key_of(node) not in self._recursive:
            self._recursive[key_of(node)] = self._leads_back(node)
        return self._recursive[key_of(node)]

    def _leads_back(self, node: Node) -> bool:
        seen: set[Key] = set()
        todo = list(self._references_in(node))
        while todo:
            one = todo.pop()
            if key_of(one) == key_of(node):
                return True
            if key_of(one) not in seen:
                seen.add(key_of(one))
                todo += self._references_in(one)
        return False

    def _references_in(self, node: Node) -> list[Node]:
        known = self._inside.get(key_of(node))
        if known is None:
            known = self._inside[key_of(node)] = []
            todo = [node]
            while todo:
                one = todo.pop()
                if has_reference(one) and (found := self.target(one, quiet=True)) is not None:
                    known.append(found)
                todo += [child for _, child in one.items()]
                todo += one.elements()
        return known

    def _find(self, said: str, file: str) -> Node | None:
        try:
            address = urlsplit(said)
        except ValueError:
            return None
        if address.scheme or address.netloc or address.query or address.path.startswith("/"):
            return None
        name = posixpath.normpath(posixpath.join(posixpath.dirname(file), unquote(address.path)))
        here = self._root(name if address.path else file)
        try:
            steps = split_pointer(unquote(address.fragment))
        except ValueError:
            return None
        for step in steps:
            here = here and _step(here, step)
        return here

    def _root(self, file: str) -> Node | None:
        if file not in self._roots:
            readable = file in self._files and file.endswith((".yaml", ".yml", ".json"))
            found = reading.read(file, self._files, self._limits, self._notes) if readable else None
            self._roots[file] = found and root(found.source)
        return self._roots[file]


def has_reference(node: Node) -> bool:
    return isinstance(node.value, dict) and "$ref" in node.value


def key_of(node: Node) -> Key:
    return node.source.file, node.path


def _step(node: Node, step: str) -> Node | None:
    if isinstance(node.value, list) and step.isdecimal() and len(step) < 10 and int(step) < len(node.value):
        return Node(node.source, (*node.path, int(step)), node.value[int(step)])
    return node.get(step)
