"""The samples of the original guide as they are printed, in Chinese: loaded together, and run."""

import json
import re
import shlex
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from rightseat.core.types import JsonValue
from rightseat.plugins.definition import Plugin
from rightseat.plugins.loading import LoadResult
from rightseat.plugins.operations.validation import find_violations
from rightseat.plugins.scope import Scope
from rightseat.plugins.selection import FlowSearch, suggest_flows
from rightseat.plugins.testing.cases import MockExchange
from rightseat.plugins.testing.mocks import ScriptedModelCaller
from tests.plugins.flows.playing import Play, flow_of, speak
from tests.plugins.loading.sample import codes, load

SAMPLES = Path(__file__).parents[1] / "recordings" / "eulercopilot-2024"
QUESTION = "请分析性能，数据是0.1"


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def added(name: str) -> str:
    return sample(f"added/{name}")


def document(schema: str = "") -> str:
    """The smallest document as printed, with a port and the operation that the flow calls; `schema` is of its body."""
    text = sample("openapi.yaml")
    printed = text[text.index("servers:\n") : text.index("\npaths:")]
    text = text.replace(printed, added("servers.yaml"))
    if schema:
        start, end = text.index("            schema:\n"), text.index("      responses:")
        text = text[:start] + textwrap.indent(schema, " " * 12) + text[end:]
    return text + added("paths.yaml")


def loaded(openapi: str = "") -> LoadResult:
    flows = {f"flows/example_{n}.yaml": added(f"example_{n}.yaml") for n in (2, 3)}
    files = {"plugin.json": sample("plugin.json"), "openapi.yaml": openapi or document()}
    return load(files | {"flows/example_flow.yaml": sample("flow.yaml")} | flows, id="data_analysis")


def plugin(openapi: str = "") -> Plugin:
    found = loaded(openapi)
    assert found.plugin is not None, [str(one) for one in found.diagnostics]
    return found.plugin


def unsigned() -> Plugin:
    return replace(plugin(), auth=())


def exchange(method: str, path: str, reply: JsonValue, status: int = 200, **request: JsonValue) -> MockExchange:
    url = f"http://example.com:8080/suffix{path}"
    return MockExchange.model_validate(
        {"request": {"method": method, "url": url, **request}, "reply": {"json": reply, "status": status}}
    )


def test_the_samples_together_load_with_warnings_for_the_key_and_the_backslash() -> None:
    found = loaded()

    assert set(codes(found)) == {"W112", "W226"}
    assert found.plugin is not None
    assert found.plugin.id == "data_analysis"
    assert found.plugin.texts.name == "智能数据分析"
    assert found.plugin.texts.description == "该插件接受用户文件，返回由外置智能数据分析工具生成的Word文档。"
    assert found.plugin.texts.starters == ("请帮我将该Excel报表转为Word报告。",)
    assert found.plugin.auth[0].args == {"Authorization": "sk-1234"}
    assert set(found.plugin.flows) == {"example_id", "example_2", "example_3"}


def test_the_document_and_the_flow_alone_are_refused_for_missing_parts() -> None:
    bare = {"plugin.json": sample("plugin.json"), "openapi.yaml": sample("openapi.yaml")}

    assert "E208" in codes(load(bare, id="data_analysis"))
    alone = bare | {"openapi.yaml": document().replace(added("paths.yaml"), "")}
    assert {"E401", "W801"} <= set(
        codes(load(alone | {"flows/example_flow.yaml": sample("flow.yaml")}, id="data_analysis"))
    )


async def test_the_request_of_the_sample_is_sent_as_printed_and_its_descriptions_reach_the_model() -> None:
    words = shlex.split(sample("request.txt").replace("\\\n", " "))
    method, address, data = words[words.index("-X") + 1], words[3], words[words.index("-d") + 1]
    http = exchange(method, "/url", json.loads(sample("reply.json")), json=json.loads(data))
    play = await Play(
        plugin().flows["example_2"], {"start": {"data": "0.1"}, "answer": "完成。"}, [http], Scope(QUESTION), unsigned()
    ).run()

    assert address.replace(":port", ":8080") == "http://example.com:8080/suffix/url"
    assert play.problems == []
    assert play.outputs()["start"] == {"name": "test"}
    filling, answering = "\n".join(play.model_caller.prompts[:2]), "\n".join(play.model_caller.prompts[2:])
    for text in ("API的描述信息", "API请求体的总描述", "字段的描述信息", "字段的样例值"):
        assert text in filling
    for text in ("API返回体的总描述", "- name (string): 字段的描述信息"):
        assert text in answering


@pytest.mark.parametrize(
    ("chosen", "path"),
    [("report_gen", ["start", "flow_choice", "report_gen", "end"]), ("end", ["start", "flow_choice", "end"])],
)
async def test_the_flow_of_the_sample_takes_both_branches(chosen: str, path: list[str]) -> None:
    model = {"flow_choice": {"step": chosen}, "report_gen": "# 报告", "answer": "完成。"}
    http = [exchange("GET", "/api/test", {"report": "负载为3"})]
    play = await Play(plugin().flows["example_id"], model, http, Scope(QUESTION), unsigned()).run()

    assert play.problems == []
    assert play.trace.path() == path
    prompts = "\n".join(play.model_caller.prompts)
    for text in ("返回值是否为Markdown报告？", "返回值不是Markdown格式", "测试接口的返回信息", "负载为3"):
        assert text in prompts
    if chosen == "report_gen":
        assert "你是一个擅长Linux系统性能优化" in prompts
        assert f"用户问题：\n{QUESTION}" in prompts
        assert re.search(r"当前时间：\n\d{4}-\d\d-\d\d ", prompts)


async def test_an_error_in_the_flow_of_the_sample_is_explained_by_its_on_error() -> None:
    http = [exchange("GET", "/api/test", {}, 404)]
    play = await Play(plugin().flows["example_id"], {"on_error": "抱歉。"}, http, Scope(QUESTION), unsigned()).run()

    assert play.problems == []
    assert play.trace.status() == "failed_handled"
    assert "当前工具执行发生错误，原始错误信息为：" in play.model_caller.prompts[-1]
    assert "404" in play.model_caller.prompts[-1]


async def test_the_next_flows_of_the_sample_are_suggested() -> None:
    one = plugin()
    model_caller = ScriptedModelCaller(
        {"suggestions": {"data_analysis.example_2": "第二个？", "data_analysis.example_3": "第三个？"}}
    )
    found = await suggest_flows(
        one, one.flows["example_id"], Scope(QUESTION), {one.id: one}, FlowSearch(), model_caller
    )

    assert found == [
        {"flow": "data_analysis.example_2", "question": "第二个？"},
        {"flow": "data_analysis.example_3", "question": "第三个？"},
    ]


GOOD: dict[str, JsonValue] = json.loads(sample("schema-data.json"))


@pytest.mark.parametrize(
    ("changed", "fits"),
    [({}, True), ({"id": 3}, False), ({"name": "ABC"}, False), ({"gender": "x"}, False), ({"posts": ["十"]}, False)],
)
def test_the_schema_of_the_sample_accepts_the_data_printed_with_it(changed: dict[str, JsonValue], fits: bool) -> None:
    body = plugin(document(sample("schema.yaml"))).operations["POST /url"].body

    assert body is not None
    assert (find_violations(body.schema, GOOD | changed) == []) == fits


async def test_the_descriptions_of_the_image_sample_reach_the_model() -> None:
    """The sample shows descriptions alone; what stands around them is added."""
    api, field = re.findall(r"description: (.+)", sample("txt2img.yaml"))
    openapi = document() + added("txt2img.yaml").replace("API_DESCRIPTION", api).replace("FIELD_DESCRIPTION", field)
    one = plugin(openapi)
    flow = replace(one.flows["example_2"], answer="none")
    start = replace(flow.steps["start"], params={"endpoint": "POST /txt2img"})
    flow = replace(flow, steps={**flow.steps, "start": start})
    http = [exchange("POST", "/txt2img", {}, json={"prompt": "galaxy"})]
    play = await Play(flow, {"start": {"prompt": "galaxy"}}, http, Scope("galaxy"), replace(one, auth=())).run()

    assert play.problems == []
    assert api in play.model_caller.prompts[1]
    assert json.loads(field) in play.model_caller.prompts[1]


async def test_the_prompt_of_the_sample_reaches_the_model_word_for_word() -> None:
    system, _, user = sample("prompt.txt").partition("\n\n\n")
    flow = flow_of(speak("start", user, system_prompt=system), answer="none")
    play = await Play(flow, {"start": "# 8月22日至8月24日天气分析报告"}, [], Scope("天气")).run()

    assert play.problems == []
    assert play.model_caller.prompts == [system, user]
