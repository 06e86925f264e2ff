"""The flows of agents in the operator API."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import Serve
from tests.faces.operator.test_operator import Stream, serving

EXAMPLES = Path(__file__).parents[3] / "examples" / "plugins"
CONFIGURATION = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
toolboxes:
  hosts: {{type: plugins, folders: ["{folder}"], users: {{weather: [alice]}}}}
agents:
  default: {{toolboxes: [hosts]}}
  plain: {{}}
  ops: {{type: flows, toolbox: hosts, plugins: [host_security]}}
  talk: {{type: flows, toolbox: hosts, flow: talk.say}}
  scan: {{type: flows, toolbox: hosts, flow: host_security.scan_host}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{state}"}}
faces: [{{type: operator}}]
access:
  keys:
    - {{name: alice, key: key-alice, user: alice}}
    - {{name: olga, key: key-olga, user: olga, scopes: ["operator:ops", "operator.read:ops"]}}
    - {{name: reader, key: key-reader, user: alice, scopes: ["*", "operator.read:talk"]}}
    - {{name: bob, key: key-bob, user: bob}}
    - {{name: scan, key: key-scan, user: alice, scopes: ["operator:scan"]}}
    - {{name: plain, key: key-plain, user: alice, scopes: ["operator:plain"]}}
"""
TALK = {"id": "talk", "name": "Talk", "description": "Talks.", "version": "1.0.0"}
SAY = """
name: say
description: Says something.
steps:
  - {name: start, call_type: llm, params: {system_prompt: Be brief., user_prompt: "Say {question}"}, next: end}
  - {name: end, call_type: none}
"""


@pytest.fixture
def configuration(tmp_path: Path) -> str:
    folder = tmp_path / "plugins"
    for name in ("host_security", "weather"):
        shutil.copytree(EXAMPLES / name, folder / name)
    talk = folder / "talk"
    (talk / "flows").mkdir(parents=True)
    (talk / "plugin.json").write_text(json.dumps(TALK))
    (talk / "flows" / "say.yaml").write_text(SAY)
    return CONFIGURATION.format(folder=folder, state=tmp_path / "state")


def key(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer key-{name}"}


async def test_flows_are_listed_with_the_agents_that_a_key_may_use(serve: Serve, configuration: str) -> None:
    async with serving(serve, configuration) as server:
        found = {}
        for name in ("alice", "bob", "scan", "plain"):
            rows = (await server.client.get("/operator/flows", headers=key(name))).json()
            found[name] = {f"{row['plugin']}.{row['flow']}": row for row in rows}

    assert {name: one["agents"] for name, one in found["alice"].items()} == {
        "host_security.cve_detail": ["default", "ops"],
        "host_security.scan_host": ["default", "ops", "scan"],
        "talk.say": ["default", "talk"],
        "weather.current_weather": ["default"],
        "weather.forecast": ["default"],
    }
    # list_host_cves needs code of its plugin that the operator has not allowed
    assert found["alice"]["host_security.scan_host"]["asks"]
    assert not found["alice"]["host_security.cve_detail"]["asks"]
    assert found["alice"]["host_security.scan_host"]["steps"] == 2
    assert {one.partition(".")[0] for one in found["bob"]} == {"host_security", "talk"}, "weather is for alice"
    assert {name: one["agents"] for name, one in found["scan"].items()} == {"host_security.scan_host": ["scan"]}
    assert found["plain"] == {}


async def test_agents_have_the_example_questions_of_their_plugins(serve: Serve, configuration: str) -> None:
    async with serving(serve, configuration) as server:
        found = {}
        for name, language in (("alice", "en"), ("alice", "zh-CN"), ("bob", "en")):
            query = {"language": language}
            rows = (await server.client.get("/operator/agents", params=query, headers=key(name))).json()
            found[name, language] = {row["name"]: row["questions"] for row in rows}

    hosts, weather = "Which CVEs affect host web-01?", "What will the weather be in Hangzhou tomorrow?"
    assert found["alice", "en"] == {
        "default": [hosts, weather],
        "plain": [],
        "ops": [hosts],
        "talk": [],
        "scan": [hosts],
    }
    assert found["alice", "zh-CN"]["default"] == ["主机 web-01 上有哪些 CVE？", "杭州明天天气怎么样？"]
    assert found["bob", "en"]["default"] == [hosts], "weather is for alice"


async def test_a_graph_has_steps_edges_and_the_error_step(serve: Serve, configuration: str) -> None:
    async with serving(serve, configuration) as server:
        answer = await server.client.get("/operator/flows/host_security/scan_host", headers=key("alice"))
        listed = (await server.client.get("/operator/flows", headers=key("alice"))).json()

    graph = answer.json()
    assert graph["digest"] == next(row["digest"] for row in listed if row["flow"] == "scan_host")
    assert graph["steps"][0] == {
        "name": "start", "call": "api", "text": "POST /scans", "dangerous": True, "last": False, "definition": None
    }  # fmt: skip
    assert [step["last"] for step in graph["steps"]] == [False, True]
    assert graph["edges"] == [{"from": "start", "to": "end", "label": "", "condition": False}]
    assert (graph["on_error"]["name"], graph["on_error"]["call"]) == ("on_error", "llm")
    assert graph["suggests"] == ["list_host_cves"]


async def test_only_operators_receive_the_definitions_of_steps(serve: Serve, configuration: str) -> None:
    path = "/operator/flows/host_security/scan_host"
    async with serving(serve, configuration) as server:
        found = {name: (await server.client.get(path, headers=key(name))).json() for name in ("alice", "olga")}

    assert found["olga"]["steps"][0]["definition"] == {"params": {"endpoint": "POST /scans"}}
    assert {step["definition"] for step in (*found["alice"]["steps"], found["alice"]["on_error"])} == {None}


async def test_only_operators_receive_the_prompts_of_steps(serve: Serve, configuration: str) -> None:
    async with serving(serve, configuration) as server:
        answer = await server.post("agents/talk/runs", {"thread": "t1", "text": "Hello"}, **key("alice"))
        path, found = f"/operator/runs/{answer.json()['run']}/entries", {}
        for name in ("alice", "reader"):
            async with server.client.stream(
                "GET", "/operator/live", params={"thread": "t1"}, headers=key(name)
            ) as response:
                await Stream(response.aiter_lines()).until_event("RunFinished")
            found[name] = (await server.client.get(path, headers=key(name))).text

    events = [json.loads(line)["event"] for line in found["reader"].splitlines()]
    records = [one["value"]["value"].get("record") for one in events if one.get("name") == "flow.step"]
    assert {"system": "Be brief.", "user": "Say Hello"} in records
    assert "Be brief." not in found["alice"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("bob", "weather/forecast"),
        ("scan", "host_security/cve_detail"),
        ("plain", "host_security/scan_host"),
        ("alice", "host_security/nothing"),
        ("alice", "nothing/scan_host"),
    ],
)
async def test_a_flow_that_a_key_may_not_run_does_not_exist(
    serve: Serve, configuration: str, name: str, path: str
) -> None:
    async with serving(serve, configuration) as server:
        answer = await server.client.get(f"/operator/flows/{path}", headers=key(name))

    assert answer.status_code == 404
    assert answer.json() == {"error": "not_found", "message": f"There is no flow {path.replace('/', '.')}."}


async def test_an_earlier_version_is_drawn_by_its_digest(serve: Serve, configuration: str, tmp_path: Path) -> None:
    path = "/operator/flows/host_security/scan_host"
    async with serving(serve, configuration) as server:
        before = (await server.client.get(path, headers=key("alice"))).json()
    flow = tmp_path / "plugins" / "host_security" / "flows" / "scan_host.yaml"
    flow.write_text(flow.read_text().replace("Starts", "Begins"))

    async with serving(serve, configuration) as server:
        after = (await server.client.get(path, headers=key("alice"))).json()
        earlier = await server.client.get(path, params={"digest": before["digest"]}, headers=key("alice"))
        other = await server.client.get(path, params={"digest": before["digest"]}, headers=key("plain"))
        unknown = [
            await server.client.get(path, params={"digest": digest}, headers=key("alice"))
            for digest in ("0" * 64, "..", before["digest"].upper())
        ]

    assert before["digest"] != after["digest"]
    assert earlier.json() == before
    assert [other.status_code, *(answer.status_code for answer in unknown)] == [404] * 4
    assert "in the version 000000000000. Versions are removed" in unknown[0].json()["message"]
