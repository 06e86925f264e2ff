"""Converts events of plugin flows for Workspace: charts and tables become artifacts, steps become statuses."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from rightseat.core.errors import BadRequest
from rightseat.faces.openbb.tools import charts, rows
from rightseat.faces.openbb.tools.functions import StatusStep
from rightseat.faces.openbb.tools.rows import Row

MAX_SUGGESTIONS = 5


def write_chart(artifact: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Convert the ECharts option of a plugin. Raise `BadRequest` if Workspace cannot draw it."""
    try:
        option = artifact["option"]
        series, x, source = option["series"], option["dataset"]["dimensions"][0], option["dataset"]["source"]
        kind, names = series[0]["type"], [one["name"] for one in series]
        is_ring = series[0].get("radius", [""])[0] not in ("", "0%")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise BadRequest(f"Workspace cannot draw the chart {name}.") from error
    if kind == "pie":
        kind = "donut" if is_ring else "pie"
        keys: dict[str, Any] = {"angle_key": names[0], "callout_label_key": x}
    else:
        keys = {"x_key": x, "y_keys": names}
    content = rows.read_rows(source)
    parameters, _ = charts.read_parameters(charts.read_type({"type": kind}), keys, content)
    return write_artifact("chart", name, content, "A chart made for this answer.") | {"chart_params": parameters}


def read_table(value: Mapping[str, Any]) -> list[Row] | None:
    """The rows of an SQL step; None for other steps, or if there are none."""
    outcome = value.get("value")
    if value.get("event") != "output" or value.get("call") != "sql" or not isinstance(outcome, dict):
        return None
    try:
        return rows.read_rows(outcome.get("output"))
    except BadRequest:
        return None


def write_artifact(kind: str, name: str, content: list[Row], description: str) -> dict[str, Any]:
    return {"type": kind, "name": name, "description": description, "uuid": str(uuid4()), "content": content}


def read_step(value: Mapping[str, Any]) -> tuple[StatusStep, bool] | None:
    """The status of a step that starts a request or failed, and whether it failed."""
    name, about = str(value.get("step", "")), value.get("value")
    if not isinstance(about, dict):
        return None
    if value.get("event") == "failed":
        error = about.get("error")
        message = error.get("message") if isinstance(error, dict) else None
        return StatusStep(f"{name} failed", [{"error": message or "unknown"}]), True
    if value.get("event") == "input" and "method" in about:
        arguments = about.get("arguments")
        return StatusStep(f"{about['method']} {about.get('path', '')}", [arguments] if arguments else []), False
    return None


def read_suggestions(value: Any) -> Sequence[str]:
    """Suggested follow-up questions."""
    offered = value if isinstance(value, list) else []
    found = [one.get("question") for one in offered if isinstance(one, dict)]
    return [one for one in found if isinstance(one, str) and one][:MAX_SUGGESTIONS]
