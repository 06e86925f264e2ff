"""Flows as tools of the loop."""

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rightseat import app, config
from rightseat.core.ask import Answer, Ask
from rightseat.core.engine import DirectSteps
from rightseat.core.events import Custom, Event, Interrupt, RunFinished, TextDelta, ToolCallReturned
from rightseat.core.loop.agent_loop import Loop
from rightseat.core.messages import Call, user
from rightseat.egress.redaction import Redactor
from rightseat.plugins.collection import Collection
from rightseat.plugins.flows import Dependencies
from rightseat.plugins.operations import OperationClient
from rightseat.plugins.registry import PluginRegistry
from rightseat.plugins.testing.cases import MockExchange
from rightseat.plugins.testing.mocks import MockNetwork, MockSecrets, ScriptedModelCaller
from rightseat.plugins.workbench import Workbench, WorkbenchSettings
from rightseat.testing import ScriptedModel, calls, says
from rightseat.toolboxes.plugins import PluginToolbox, tool_name, unused_private_hosts
from tests.plugins.flows.playing import plugin_of

EXAMPLES = Path(__file__).parent.parent.parent / "examples/plugins"
CVE = MockExchange.model_validate(
    {
        "request": {"method": "GET", "url": "http://127.0.0.1:39181/api/cves/CVE-2024-3094"},
        "reply": {"json": {"id": "CVE-2024-3094", "score": 10, "package": "xz", "fixed_in": "1", "summary": "Bad"}},
    }
)
SCAN = MockExchange.model_validate(
    {"request": {"method": "POST", "url": "http://127.0.0.1:39181/api/scans"}, "reply": {"json": {"task_id": "s1"}}}
)


@asynccontextmanager
async def looping(folder: Path, script: dict[str, Any], *http: MockExchange, flow: str) -> AsyncIterator[Loop]:
    shutil.copytree(EXAMPLES / "host_security", folder / "plugins/host_security")
    redactor, network = Redactor(), MockNetwork(list(http))
    dependencies = Dependencies(
        ScriptedModelCaller(script), OperationClient(network, MockSecrets(), redactor), redactor
    )
    registry, model = PluginRegistry([folder / "plugins"], folder / "state"), ScriptedModel([says("-")])
    toolbox = PluginToolbox(
        Collection(registry, lambda model: dependencies),
        model,
        redactor,
        Workbench(registry, lambda model: dependencies, model, WorkbenchSettings()),
    )
    arguments = '{"question": "CVE-2024-3094 or a quick scan of db-01"}'
    async with toolbox:
        yield Loop(ScriptedModel([calls(flow, arguments), says("All done.")]), [toolbox])
    assert [*network.problems, *network.list_unsent()] == []


async def run(loop: Loop, **rest: Any) -> list[Event]:
    return [event async for event in loop.run(Ask(messages=(user("Please"),), **rest), DirectSteps())]


async def test_the_text_of_a_flow_is_the_result_of_the_call(tmp_path: Path) -> None:
    script = {"start": {"cve_id": "CVE-2024-3094"}, "end": "A backdoor in xz."}
    async with looping(tmp_path, script, CVE, flow="host_security_cve_detail") as loop:
        events = await run(loop)

    (returned,) = [event for event in events if isinstance(event, ToolCallReturned)]
    assert (returned.content, returned.error) == ("A backdoor in xz.", None)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "All done."
    assert any(isinstance(event, Custom) and event.name == "flow.step" for event in events)


async def test_R_10_5_a_dangerous_step_asks_in_the_middle_of_the_loop_and_continues(tmp_path: Path) -> None:
    script = {"start": {"host_id": "db-01", "depth": "quick"}, "on_error": "It lacks the rest."}
    async with looping(tmp_path, script, SCAN, flow="host_security_scan_host") as loop:
        events = await run(loop)
        last = events[-1]
        assert isinstance(last, RunFinished)
        (question,) = last.interrupts
        later = await run(loop, answers=(answered(question),))

    assert question.call_id == "call_1"
    (returned,) = [event for event in later if isinstance(event, ToolCallReturned)]
    assert returned.error == "extract_missing"
    assert returned.content == "It lacks the rest."


def answered(question: Interrupt) -> Answer:
    call = Call("call_1", "host_security_scan_host", '{"question": "a quick scan of db-01"}')
    return Answer(question.id, "resolved", {"decision": "allow"}, call, question.memo)


async def test_flows_that_need_code_which_is_not_allowed_are_no_tools(tmp_path: Path) -> None:
    async with looping(tmp_path, {}, flow="x") as loop:
        tools = await loop.toolboxes[0].tools(Ask(messages=()))

    assert [tool.name for tool in tools] == ["host_security_cve_detail", "host_security_scan_host"]
    assert all(tool.stream is not None and tool.approval == "exempt" for tool in tools)


async def test_a_tools_description_has_that_of_its_plugin(tmp_path: Path) -> None:
    async with looping(tmp_path, {}, flow="x") as loop:
        (plugin,) = loop.toolboxes[0].collection.registry.plugins().values()  # type: ignore[attr-defined]
        tools = await loop.toolboxes[0].tools(Ask(messages=()))

    for tool in tools:
        assert tool.description.endswith(f"\n\nThe plugin {plugin.texts.name}: {plugin.texts.description}")


@pytest.mark.parametrize("flow", ["forecast", "x" * 64, "天气", "a b"])
def test_a_tools_name_is_one_that_every_provider_takes(flow: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool_name("plugin", flow))
    assert tool_name("plugin", flow) != tool_name("plugin", f"{flow}2")


async def test_a_configuration_names_a_toolbox_of_plugins_and_an_agent_of_flows(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "sales_insight", tmp_path / "mine/sales_insight")
    (tmp_path / "rightseat.yaml").write_text("""
models: {default: {type: scripted}}
toolboxes:
  plugins: {type: plugins, folders: [mine]}
agents:
  default: {type: flows, toolbox: plugins}
  loop: {type: loop, toolboxes: [plugins]}
""")
    assembly = app.assemble(config.read(tmp_path / "rightseat.yaml"))

    async with assembly.opened():
        ask = await assembly.runtime.start(Ask(messages=(user("Hi"),), properties={"plugins": "none"}))
        events = [entry.event async for batch in assembly.runtime.follow(ask.run_id) for entry in batch]

    assert events[-1] == RunFinished("done")


def test_an_allowed_private_host_that_no_plugin_uses_is_reported() -> None:
    asking = plugin_of(id="shop")
    asking = replace(asking, allow_private=("127.0.0.1:1",), server="http://erp:8080/v1")

    (other, unknown) = unused_private_hosts(
        {"shop": ("127.0.0.1:1", "ERP:8080", "127.0.0.1:2"), "none": ("10.0.0.1:80",)}, {"shop": asking}
    )

    assert "127.0.0.1:2" in other
    assert "go to 127.0.0.1:1, erp:8080: correct or remove" in other
    assert "does not exist" in unknown
