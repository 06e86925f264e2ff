"""What a flow of a plugin tells of itself, as Workspace shows it: charts and tables as artifacts, steps as statuses."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from rightseat.core.errors import BadAsk
from rightseat.faces.openbb import charts, rows
from rightseat.faces.openbb.functions import Step
from rightseat.faces.openbb.rows import Row

MOST_SUGGESTIONS = 5


def chart(artifact: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A chart of a plugin, from its option for ECharts. Raises `BadAsk` where Workspace cannot draw it."""
    try:
        option = artifact["option"]
        series, x, source = option["series"], option["dataset"]["dimensions"][0], option["dataset"]["source"]
        kind, names = series[0]["type"], [one["name"] for one in series]
        is_ring = series[0].get("radius", [""])[0] not in ("", "0%")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise BadAsk(f"{name} is no chart that Workspace can draw.") from error
    if kind == "pie":
        kind = "donut" if is_ring else "pie"
        keys: dict[str, Any] = {"angle_key": names[0], "callout_label_key": x}
    else:
        keys = {"x_key": x, "y_keys": names}
    content = rows.given(source)
    parameters, _ = charts.read_parameters(charts.read_type({"type": kind}), keys, content)
    return written("chart", name, content, "A chart made for this answer.") | {"chart_params": parameters}


def table(value: Mapping[str, Any]) -> list[Row] | None:
    """The rows that a step has asked a database for; None where it is another step, or found none."""
    outcome = value.get("value")
    if value.get("event") != "output" or value.get("call") != "sql" or not isinstance(outcome, dict):
        return None
    try:
        return rows.given(outcome.get("output"))
    except BadAsk:
        return None


def written(kind: str, name: str, content: list[Row], description: str) -> dict[str, Any]:
    return {"type": kind, "name": name, "description": description, "uuid": str(uuid4()), "content": content}


def step(value: Mapping[str, Any]) -> tuple[Step, bool] | None:
    """What is worth a line of what a step is about to do, or of how it failed; and whether it failed."""
    name, about = str(value.get("step", "")), value.get("value")
    if not isinstance(about, dict):
        return None
    if value.get("event") == "failed":
        error = about.get("error")
        message = error.get("message") if isinstance(error, dict) else None
        return Step(f"{name} failed", [{"error": message or "unknown"}]), True
    if value.get("event") == "input" and "method" in about:
        arguments = about.get("arguments")
        return Step(f"{about['method']} {about.get('path', '')}", [arguments] if arguments else []), False
    return None


def questions(value: Any) -> Sequence[str]:
    """What the user could ask next."""
    offered = value if isinstance(value, list) else []
    found = [one.get("question") for one in offered if isinstance(one, dict)]
    return [one for one in found if isinstance(one, str) and one][:MOST_SUGGESTIONS]
