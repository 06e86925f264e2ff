"""Rows become a chart: chosen by a model at most, written by code, and drawn without a browser."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.core.types import JsonValue
from rightseat.plugins.charts import render, render_png, render_svg
from rightseat.plugins.charts.kinds import KINDS
from rightseat.plugins.charts.scales import build_linear_scale, build_log_scale, format_number
from rightseat.plugins.charts.table import parse_number
from rightseat.plugins.definition import Step
from rightseat.plugins.model_calls import ModelRequest, ModelResponse
from rightseat.plugins.results import StepFailed, StepResult, StepUsage
from rightseat.plugins.scope import Scope
from tests.profiles import examples

ROWS: list[JsonValue] = [
    {"region": "north", "year": "2024", "amount": "1,200.50", "count": 3},
    {"region": "south", "year": "2025", "amount": 800, "count": 0},
]


class Script:
    def __init__(self, *replies: JsonValue) -> None:
        self.replies = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
        self.asked: list[ModelRequest] = []

    async def call(self, wanted: ModelRequest) -> ModelResponse:
        self.asked.append(wanted)
        return ModelResponse(self.replies.pop(0), StepUsage(5, 6))


async def draw(data: JsonValue, *replies: JsonValue, **params: JsonValue) -> tuple[StepResult, list[ModelRequest]]:
    script = Script(*replies)
    result = await render(Step("draw", "render", params), Scope("How much?", data=data), script)
    assert isinstance(result.output, dict)
    return result, script.asked


def option(result: StepResult) -> Any:
    return result.output


def source(result: StepResult) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = option(result)["dataset"]["source"]
    return rows


@pytest.mark.parametrize(
    "data", [None, [], {}, "text", 3, [1, 2], [{}], [{"a": [1]}], [{"a": {"b": 1}}], [{"a": 1}, "x"]]
)
async def test_R_7_17_data_that_is_no_table_is_refused(data: JsonValue) -> None:
    with pytest.raises(StepFailed) as failed:
        await draw(data, type="bar", x="a", y=["a"])

    assert failed.value.code == "render_input"


async def test_R_7_17_a_fully_specified_chart_needs_no_model() -> None:
    result, asked = await draw(ROWS, type="bar", x="region", y=["amount"], title="Amounts")

    assert asked == []
    assert source(result) == [{"region": "north", "amount": 1200.5}, {"region": "south", "amount": 800}]
    assert option(result)["series"] == [{"type": "bar", "name": "amount", "encode": {"x": "region", "y": "amount"}}]
    assert option(result)["title"] == {"text": "Amounts"}


async def test_R_7_17_a_model_chooses_among_the_existing_columns() -> None:
    reply: JsonValue = {
        "type": "line", "x": "year", "y": ["amount", "count"], "stack": False, "ring": False, "scale": "linear",
        "title": "Course",
    }  # fmt: skip

    result, (asked,) = await draw(ROWS, reply)

    properties: Any = (asked.schema or {})["properties"]
    assert properties["x"]["enum"] == ["region", "year", "amount", "count"]
    assert properties["y"]["items"]["enum"] == ["year", "amount", "count"]
    assert "How much?" in asked.user
    assert "region (text)" in asked.user
    assert '"north"' in asked.user
    assert [one["type"] for one in option(result)["series"]] == ["line", "line"]
    assert result.usage == StepUsage(5, 6)


async def test_R_7_17_the_model_cannot_change_parameters_of_the_step() -> None:
    result, (asked,) = await draw(ROWS, {"x": "region", "y": ["count"], "type": "pie", "title": "T"}, type="bar")

    properties: Any = (asked.schema or {})["properties"]
    assert "type" not in properties
    assert option(result)["series"][0]["type"] == "bar"


@pytest.mark.parametrize("reply", ["no JSON at all", [1], {"option": {"series": "function () {}"}}])
async def test_R_7_17_an_invalid_model_response_does_not_reach_the_option(reply: JsonValue) -> None:
    result, _ = await draw(ROWS, reply)

    assert "function" not in json.dumps(result.output)
    assert option(result)["series"][0]["type"] == "bar"


async def test_R_7_17_unknown_columns_are_refused() -> None:
    wrong: list[dict[str, JsonValue]] = [{"x": "town"}, {"y": ["region"]}, {"type": "radar"}, {"scale": "cubic"}]
    for params in wrong:
        whole: dict[str, JsonValue] = {"type": "bar", "x": "region", "y": ["amount"], **params}
        with pytest.raises(StepFailed) as failed:
            await draw(ROWS, **whole)

        assert failed.value.code == "render_input"


async def test_R_7_17_the_values_of_a_single_column_are_counted() -> None:
    data: list[JsonValue] = [{"region": name} for name in ("north", "south", "north", None)]

    result, asked = await draw(data, type="bar")

    assert asked == []
    assert source(result) == [
        {"region": "north", "count": 2}, {"region": "south", "count": 1}, {"region": "", "count": 1},
    ]  # fmt: skip


async def test_R_7_17_rows_in_long_form_become_series() -> None:
    data: list[JsonValue] = [
        {"month": month, "region": region, "amount": amount}
        for month, region, amount in (("01", "n", 1), ("01", "s", 2), ("02", "n", 3))
    ]

    result, _ = await draw(data, type="line", x="month", y=["amount"])

    assert source(result) == [{"month": "01", "n": 1, "s": 2}, {"month": "02", "n": 3, "s": None}]


async def test_R_7_17_an_option_has_no_functions_no_html_and_no_urls() -> None:
    hostile = "<img src=https://evil.example/x onerror=alert(1)>"

    result, _ = await draw([{hostile: hostile, "n": 1}], type="pie", x=hostile, y=["n"], title=hostile)

    written_one = option(result)
    assert written_one["tooltip"]["renderMode"] == "richText"
    assert not re.search(r'"(formatter|link|sublink|image|url|icon|symbol)"', json.dumps(written_one))
    drawn = render_svg(written_one)
    assert "<img" not in drawn
    assert "href" not in drawn


async def test_R_7_18_a_pie_chart_has_one_y_column() -> None:
    result, _ = await draw(ROWS, type="pie", x="region", y=["amount", "count"], ring=True)

    (series,) = option(result)["series"]
    assert series["encode"] == {"itemName": "region", "value": "amount"}
    assert series["radius"] == ["40%", "70%"]
    assert "A pie chart shows only one column: amount." in result.message


async def test_R_7_18_a_log_scale_with_zeros_falls_back_to_linear_with_a_note() -> None:
    linear_one, _ = await draw(ROWS, type="bar", x="region", y=["count"], scale="log")
    log_one, _ = await draw(ROWS, type="bar", x="region", y=["amount"], scale="log")

    assert option(linear_one)["yAxis"]["type"] == "value"
    assert "The scale is linear" in linear_one.message
    assert option(log_one)["yAxis"]["type"] == "log"


@pytest.mark.parametrize("kind", KINDS)
async def test_R_7_18_more_than_1000_points_are_downsampled_with_a_note(kind: str) -> None:
    data: list[JsonValue] = [{"n": n, "v": n % 17 + 1} for n in range(5000)]

    result, _ = await draw(data, type=kind, x="n", y=["v"])

    rows = source(result)
    assert len(rows) <= 1000
    assert "5000" in result.message or "summed" in result.message
    if not KINDS[kind].is_continuous:
        assert sum(row["v"] for row in rows) == sum(n % 17 + 1 for n in range(5000))


async def test_R_7_18_stacked_bars_share_a_stack() -> None:
    result, _ = await draw(ROWS, type="bar", x="region", y=["amount", "count"], stack=True)

    assert [one["stack"] for one in option(result)["series"]] == ["total", "total"]


async def test_R_7_19_the_option_is_output_and_artifact_of_the_step() -> None:
    result, _ = await draw(ROWS, type="bar", x="region", y=["amount"], title="Amounts")

    (artifact,) = result.artifacts
    assert (artifact.kind, artifact.name, artifact.option) == ("chart", "Amounts", result.output)
    assert artifact.data == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("stack", [False, True])
async def test_R_7_19_an_svg_is_rendered_for_each_kind(kind: str, scale: str, stack: bool) -> None:
    data: list[JsonValue] = [{"x": n, "a": n * 3 + 1, "b": None if n == 2 else 5} for n in range(8)]
    result, _ = await draw(data, type=kind, x="x", y=["a", "b"], scale=scale, stack=stack, title="A & <B>")

    drawn = render_svg(option(result))
    tree = ElementTree.fromstring(drawn)  # noqa: S314  # our own
    painted = await render_png(option(result))

    mark = KINDS[kind].mark
    element = {"bars": "rect", "lines": "polyline", "slices": "path", "dots": "circle"}[mark]
    assert len(tree.findall(f"{{http://www.w3.org/2000/svg}}{element}")) >= (2 if mark == "lines" else 7)
    assert "A &amp; &lt;B&gt;" in drawn
    assert "nan" not in drawn
    assert painted.startswith(b"\x89PNG")


CELLS = st.one_of(st.none(), st.floats(-1e12, 1e12), st.integers(-(10**9), 10**9))


@settings(max_examples=examples(0.2))
@given(
    st.lists(st.tuples(st.text(max_size=8), CELLS), min_size=1, max_size=30), st.sampled_from(["bar", "line", "pie"])
)
async def test_R_7_19_an_svg_is_well_formed_for_any_values(rows: list[tuple[str, float | None]], kind: str) -> None:
    data: list[JsonValue] = [{"k": key, "v": value} for key, value in rows]
    numbers = [value for _, value in rows if value is not None]
    if not numbers or (kind == "pie" and min(numbers) < 0):
        with pytest.raises(StepFailed, match=r"not a numeric column|negative"):
            await draw(data, type=kind, x="k", y=["v"])
        return
    result, _ = await draw(data, type=kind, x="k", y=["v"])

    drawn = render_svg(option(result))
    ElementTree.fromstring(drawn)  # noqa: S314  # our own
    assert not re.search(r'"-?(nan|inf)"', drawn)


def test_R_7_19_an_option_that_no_plugin_made_is_refused() -> None:
    foreign: list[dict[str, Any]] = [{}, {"series": []}, {"series": [{"type": "radar"}]}]
    for one in foreign:
        with pytest.raises(ValueError, match="not a chart of a plugin"):
            render_svg(one)


def test_R_7_17_numbers_are_parsed_from_text() -> None:
    read = [
        parse_number(text)
        for text in ("12", "-1.5", "1,234", "1e3", " 7 ", "12a", "", "1,2", "nan", "1e999", "٣", True)
    ]

    assert read == [12, -1.5, 1234, 1000.0, 7, None, None, None, None, None, None, None]


def test_ticks_are_round_and_cover_the_values() -> None:
    assert build_linear_scale([0, 87], with_zero=True).ticks == (0, 20, 40, 60, 80, 100)
    assert build_linear_scale([-0.3, 0.9], with_zero=True).ticks == (-0.25 * 2, -0.25, 0, 0.25, 0.5, 0.75, 1.0)
    assert build_linear_scale([5, 5], with_zero=False).low < 5 < build_linear_scale([5, 5], with_zero=False).high
    for value in (1e-13, -5e-324, 1e300, 1e12):
        scale = build_linear_scale([value, value * (1 + 1e-15)], with_zero=False)
        assert -1e-9 <= scale.place(value) <= 1
    assert build_log_scale([3, 4000]).ticks == (1, 10, 100, 1000, 10000)
    assert [format_number(value) for value in (1200, 3_500_000, 0.25, 33.3333, 0)] == [
        "1,200",
        "3.5M",
        "0.25",
        "33.33",
        "0",
    ]


def test_an_svg_has_no_external_references() -> None:
    folder = Path(__file__).parents[3] / "src" / "rightseat" / "plugins" / "charts"

    assert not [path for path in folder.glob("*.py") if re.search(r"https?://(?!www\.w3\.org)", path.read_text())]
