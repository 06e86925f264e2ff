"""The tables and the schemas of docs/reference about plugins, made from the code."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from rightseat.plugins.call_types import call_types
from rightseat.plugins.diagnostics import KINDS, DiagnosticKind
from rightseat.plugins.loading import PluginLimits
from tests.docs import plugin_schemas

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE = REFERENCE / "plugin-format.md"
SCHEMAS = {REFERENCE / "plugin.schema.json": plugin_schemas.plugin, REFERENCE / "flow.schema.json": plugin_schemas.flow}

_TABLE = re.compile(r"(<!-- table: (\w+) -->\n\n)((?:\|[^\n]*\n)*)")
_LIMITS = {
    "max_files": "files of a plugin",
    "max_bytes": "bytes of all files",
    "max_file_bytes": "bytes of one YAML or JSON file",
    "max_flows": "flow files",
    "max_steps": "steps of one flow",
    "max_operations": "operations",
    "max_depth": "levels of nesting",
    "max_values": "values that aliases make of one file, or references of one schema",
}


def generate() -> dict[Path, str]:
    return {PAGE: page(PAGE.read_text()), **{path: written(make()) for path, make in SCHEMAS.items()}}


def page(text: str) -> str:
    tables = {"codes": codes(), "limits": limits(), "params": parameters()}
    return _TABLE.sub(lambda match: match[1] + tables[match[2]], text)


def codes() -> str:
    rows = (f"| `{kind.code}`{mark(kind)} | {kind.severity('compat')} | {kind.meaning} |" for kind in KINDS.values())
    return "\n".join(["| code | | |", "|---|---|---|", *sorted(rows, key=lambda row: row[4:7] + row[3])]) + "\n"


def mark(kind: DiagnosticKind) -> str:
    return " ▲" if kind.is_strict_error else ""


def limits() -> str:
    rows = (f"| `{name}` | {getattr(PluginLimits(), name):,} | {what} |" for name, what in _LIMITS.items())
    return "\n".join(["| limit | | of |", "|---|---|---|", *rows]) + "\n"


def parameters() -> str:
    rows = (f"| `{name}` | {listed(call.params)} | {call.summary} |" for name, call in call_types().items())
    return "\n".join(["| call | params | |", "|---|---|---|", *rows]) + "\n"


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def written(schema: object) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
