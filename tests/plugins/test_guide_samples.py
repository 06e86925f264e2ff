"""The samples of the original guide in use: all together they are a plugin, and it does what the guide says of it."""

from dataclasses import replace
from typing import Any

import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Plugin
from rightseat.plugins.operations.validation import find_violations
from rightseat.plugins.scope import Scope
from rightseat.plugins.testing.cases import MockExchange
from tests.plugins.flows.playing import Play
from tests.plugins.loading.sample import codes, load
from tests.plugins.loading.test_guide import GUIDE_FLOW, LIST, MINIMAL

METADATA = """{
    "id": "data_analysis",
    "name": "智能数据分析",
    "description": "接受用户文件，返回由外部工具生成的报告。",
    "predefined_question": "请把这张报表写成报告。",
    "automatic_flow": false,
    "auth": {
        "type": "header",
        "args": {
            "Authorization": "sk-1234"
        }
    }
}
"""
DOCUMENT = MINIMAL.replace(":port", ":8080")
URL = "http://example.com:8080/suffix/url"


def whole(document: str = DOCUMENT) -> Plugin:
    found = load({"plugin.json": METADATA, "openapi.yaml": document, "flows/a.yaml": GUIDE_FLOW})
    assert found.plugin is not None
    return found.plugin


def test_R_17_2_the_sample_plugin_json_is_read_and_its_key_reported() -> None:
    found = load({"plugin.json": METADATA, "openapi.yaml": DOCUMENT, "flows/a.yaml": GUIDE_FLOW})

    assert set(codes(found)) == {"W101", "W112", "W226"}  # it stands in a folder of another name here
    assert "sk-1234" not in str(found.diagnostics)
    assert found.plugin is not None
    assert found.plugin.texts.name == "智能数据分析"
    assert found.plugin.texts.starters == ("请把这张报表写成报告。",)


@pytest.mark.parametrize(("value", "fits"), [("0.1", True), ("1x2", True), ("10.1", False), ("a.b", False)])
def test_R_17_2_R_4_3_the_pattern_of_the_sample_matches_the_whole_value(value: str, fits: bool) -> None:
    body = whole().operations["POST /url"].body

    assert body is not None
    assert (find_violations(body.schema, {"data": value}) == []) == fits


GOOD: dict[str, JsonValue] = {"id": 2, "name": "abc123", "gender": "female", "posts": [10, 15, 2, 3]}


@pytest.mark.parametrize(
    ("changed", "fits"),
    [
        ({}, True),
        ({"id": 3}, False),
        ({"name": "ABC"}, False),
        ({"name": "a" * 21}, False),
        ({"gender": "x"}, False),
        ({"posts": ["ten"]}, False),
    ],
)
def test_R_17_2_the_schema_of_the_sample_accepts_its_data(changed: Any, fits: bool) -> None:
    start = DOCUMENT.index("schema:\n              type: object")
    plugin = whole(DOCUMENT[:start] + LIST + DOCUMENT[DOCUMENT.index("      responses:") :])
    body = plugin.operations["POST /url"].body

    assert body is not None
    assert (find_violations(body.schema, {**GOOD, **changed}) == []) == fits


@pytest.mark.parametrize(
    ("chosen", "path"),
    [("report_gen", ["start", "flow_choice", "report_gen", "end"]), ("end", ["start", "flow_choice", "end"])],
)
async def test_R_17_2_the_flow_of_the_sample_takes_both_branches(chosen: str, path: list[str]) -> None:
    model = {"start": {"data": "0.1"}, "flow_choice": {"step": chosen}, "report_gen": "A report.", "answer": "Done."}
    play = await Play(
        whole().flows["example_id"], model, [sent({"name": "test"})], Scope("Value 0.1, please."), sample()
    ).run()

    assert play.problems == []
    assert play.trace.path() == path
    assert play.trace.status() == "succeeded"


async def test_R_17_2_an_error_of_the_sample_is_explained_with_its_data_and_context() -> None:
    model = {"start": {"data": "0.1"}, "on_error": "Sorry."}
    play = await Play(whole().flows["example_id"], model, [sent({}, 503)], Scope("Value 0.1, please."), sample()).run()

    assert play.problems == []
    assert play.trace.status() == "failed_handled"
    assert "It failed: " in play.model_caller.prompts[-1]
    assert "{data}" not in play.model_caller.prompts[-1]
    assert "503" in play.model_caller.prompts[-1]


def sample() -> Plugin:
    return replace(whole(), auth=())


def sent(reply: JsonValue, status: int = 200) -> MockExchange:
    request = {"method": "POST", "url": URL, "json": {"data": "0.1"}}
    return MockExchange.model_validate({"request": request, "reply": {"status": status, "json": reply}})
