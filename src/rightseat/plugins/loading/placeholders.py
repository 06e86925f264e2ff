"""Checks the placeholders of a template, each where it stands."""

from collections.abc import Collection

from rightseat.parts import hint
from rightseat.plugins import templates
from rightseat.plugins.loading.notes import Node, Notes

_KNOWN = (*templates.PLAIN, *templates.OF_ERRORS)


def check(node: Node, steps: Collection[str], notes: Notes, *, is_on_error: bool) -> None:
    for found in templates.placeholders(node.value):
        written = f"{{{found.name}}}"
        match found.kind:
            case "unknown":
                _tell_unknown(node, f"unknown placeholder {written}.{hint(found.name, _KNOWN)}", notes)
            case "error" if not is_on_error:
                _tell_unknown(node, f"{written} is known in on_error only.", notes)
            case "step" if found.step not in steps:
                said = f"{written} names no step of this flow.{hint(found.step, steps)}"
                _tell_unknown(node, said, notes)
            case "old":
                better = "{data}" if found.name == "output" else "{context}"
                notes.add("W510", node, f"{written} is a placeholder of the original SDK.", f"use {better}")
    for _ in templates.jinja(node.value):
        notes.add("W502", node, "this looks like Jinja, which is not filled in.", "write {name}, without spaces")


def _tell_unknown(node: Node, said: str, notes: Notes) -> None:
    code = "E501" if notes.mode == "strict" else "W501"
    notes.add(code, node, said, "known: " + ", ".join(f"{{{name}}}" for name in _KNOWN))
