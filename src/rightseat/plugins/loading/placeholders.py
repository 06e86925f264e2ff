"""Checks the placeholders of a template and reports unknown ones."""

from collections.abc import Collection

from rightseat.parts import hint
from rightseat.plugins.expressions import templates
from rightseat.plugins.loading.nodes import DiagnosticReport, SourceNode

_KNOWN = (*templates.PLAIN_NAMES, *templates.ERROR_NAMES)


def check(node: SourceNode, steps: Collection[str], report: DiagnosticReport, *, is_on_error: bool) -> None:
    for found in templates.find_placeholders(node.value):
        written = f"{{{found.name}}}"
        match found.kind:
            case "unknown":
                _report_unknown(node, f"unknown placeholder {written}.{hint(found.name, _KNOWN)}", report)
            case "error" if not is_on_error:
                _report_unknown(node, f"{written} is available in on_error only.", report)
            case "step" if found.step not in steps:
                message = f"{written} does not name a step of this flow.{hint(found.step, steps)}"
                _report_unknown(node, message, report)
            case "old":
                better = "{data}" if found.name == "output" else "{context}"
                report.add("W510", node, f"{written} is a placeholder of the original SDK.", f"use {better}")
    for _ in templates.find_jinja(node.value):
        report.add(
            "W502", node, "this looks like Jinja syntax, which is not supported.", "write {name}, without spaces"
        )


def _report_unknown(node: SourceNode, message: str, report: DiagnosticReport) -> None:
    code = "E501" if report.mode == "strict" else "W501"
    report.add(code, node, message, "known: " + ", ".join(f"{{{name}}}" for name in _KNOWN))
