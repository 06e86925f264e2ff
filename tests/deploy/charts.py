"""As much of Helm as our chart uses: values, `quote`, `toYaml … | nindent`, and the sum of a value.

Helm is not on every machine that runs these tests. The templates say nothing that this does not know, which is checked;
and so is, where there is a Helm, that it gives the same.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import yaml

ACTION = re.compile(r"(\s*){{(-?)\s*(.*?)\s*}}")


def render(chart: Path, values: dict[str, Any], release: str) -> list[dict[str, Any]]:
    """What would be sent to Kubernetes."""
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    scope = {"Values": values, "Release": {"Name": release}, "Chart": {"AppVersion": about["appVersion"]}}
    files = sorted((chart / "templates").glob("*.yaml"))
    return [yaml.safe_load(ACTION.sub(lambda match: _fill(match, scope), file.read_text())) for file in files]


def _fill(match: re.Match[str], scope: dict[str, Any]) -> str:
    before, trims, action = match.groups()
    return ("" if trims else before) + _evaluate(action, scope)


def _evaluate(action: str, scope: dict[str, Any]) -> str:
    first, *filters = [part.split() for part in action.split("|")]
    value: Any = _find(first[-1], scope)
    match first[:-1]:
        case ["toYaml"]:
            value = yaml.safe_dump(value, sort_keys=True).rstrip("\n")
        case ["toJson"]:
            value = json.dumps(value, sort_keys=True, separators=(",", ":"))
        case [_, *_]:
            raise NotImplementedError(action)
    for name in filters:
        match name:
            case ["quote"]:
                value = json.dumps(str(value).lower() if isinstance(value, bool) else str(value))  # as Go writes it
            case ["nindent", spaces]:
                value = "".join(f"\n{' ' * int(spaces)}{line}" for line in value.splitlines())
            case ["sha256sum"]:
                value = hashlib.sha256(value.encode()).hexdigest()
            case _:
                raise NotImplementedError(action)
    return str(value)


def _find(path: str, scope: dict[str, Any]) -> Any:
    value: Any = scope
    for name in path.removeprefix(".").split("."):
        value = value[name]
    return value
