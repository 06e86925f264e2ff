"""Plugins in the operator API: reports, drafts, dry runs, cases, saving."""

import hashlib
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rightseat.core.audit import AUDIT_LOGGER
from rightseat.limits.admission import LimitedAdmission
from tests.conftest import Serve
from tests.faces.operator.test_operator import CHANGING, Server, Stream, serving

STEPS = Path(__file__).parents[2] / "acceptance" / "console" / "plugins" / "steps"
CONFIGURATION = """
models: {{default: {{type: scripted, chunk_delay: 0}}}}
toolboxes:
  steps:
    type: plugins
    folders: ["{folder}"]
    users: {{steps: [alice]}}
    allow_private: {{steps: ["127.0.0.1:39190"]}}
agents: {{ops: {{type: flows, toolbox: steps}}}}
log: {{type: memory}}
threads: {{type: memory}}
server: {{state_dir: "{state}"}}
faces: [{{type: operator, edit: true}}]
"""
KEYS = """
access:
  keys:
    - {name: ada, key: key-ada, user: ada, scopes: ["*", "operator.author:*"]}
    - {name: wu, key: key-wu, user: wu, scopes: ["operator.watch:*"]}
    - {name: narrow, key: key-narrow, user: nina, scopes: ["operator.*:ops"]}
    - {name: bob, key: key-bob, user: bob}
"""
FIVE = "flows/five.yaml"
FLOW_TEMPLATE = Path(__file__).parents[3] / "console" / "src" / "screens" / "plugins" / "newFlow.yaml"


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins" / "steps"
    shutil.copytree(STEPS, folder, copy_function=shutil.copyfile)
    for one in (folder, *folder.rglob("*")):
        one.chmod(0o755 if one.is_dir() else 0o644)
    return folder


@pytest.fixture
def configuration(plugin: Path, tmp_path: Path) -> str:
    return CONFIGURATION.format(folder=plugin.parent, state=tmp_path / "state") + KEYS


def key(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer key-{name}"}


async def put(server: Server, path: str, text: str, etag: str, name: str = "ada", **query: str) -> httpx2.Response:
    return await server.client.put(
        f"/operator/plugins/steps/files/{path}",
        json={"text": text},
        params=query,
        headers={**CHANGING, **key(name), "if-match": etag},
    )


async def check(server: Server, **files: str) -> Any:
    body = {"plugin": "steps", "files": {path.replace("__", "/") + ".yaml": text for path, text in files.items()}}
    answer = await server.post("drafts/check", body, **key("ada"))
    assert answer.status_code == 200, answer.text
    return answer.json()


def list_all(plugin: Path) -> list[Path]:
    return sorted((*plugin.parent.rglob("*"), *plugin.parent.parent.glob("*.yaml")))


# Reports and files


async def test_a_report_names_what_a_plugin_needs_and_its_files(serve: Serve, configuration: str) -> None:
    async with serving(serve, configuration) as server:
        answer = await server.client.get("/operator/plugins/steps", headers=key("wu"))
        listed = await server.client.get("/operator/plugins", headers=key("ada"))

    report = answer.json()
    assert listed.json() == [report]
    assert (report["name"], report["version"], report["state"]) == ("Steps", "1.0.0", "active")
    assert report["contacts"] == ["127.0.0.1:39190"]
    assert report["private"] == [{"target": "127.0.0.1:39190", "allowed": True}]
    assert report["secrets"] == [{"name": "STEPS_TOKEN", "set": False}]
    assert (report["users"], report["lib"], report["problems"]) == (["alice"], None, [])
    size = (STEPS / FIVE).stat().st_size
    assert {"path": FIVE, "size": size, "editable": True} in report["files"]


async def test_a_broken_plugin_is_listed_with_its_problems(serve: Serve, configuration: str, plugin: Path) -> None:
    (plugin / FIVE).write_text("name: five\n")
    async with serving(serve, configuration) as server:
        report = (await server.client.get("/operator/plugins/steps", headers=key("wu"))).json()

    assert (report["state"], report["version"]) == ("broken", "")
    assert {one["file"] for one in report["problems"]} == {FIVE}


async def test_code_is_shown_to_authors_and_marked_as_not_editable(
    serve: Serve, configuration: str, plugin: Path
) -> None:
    (plugin / "lib").mkdir()
    (plugin / "lib" / "__init__.py").write_text("# code\n")
    (plugin / "lib" / "names.json").write_text("{}")
    async with serving(serve, configuration) as server:
        report = (await server.client.get("/operator/plugins/steps", headers=key("ada"))).json()
        code = await server.client.get("/operator/plugins/steps/files/lib/__init__.py", headers=key("ada"))

    assert {one["path"]: one["editable"] for one in report["files"] if one["path"].startswith("lib/")} == {
        "lib/__init__.py": False,
        "lib/names.json": False,
    }
    assert (report["lib"]["allowed"], len(report["lib"]["digest"])) == (False, 64)
    assert (code.text, code.headers["x-editable"]) == ("# code\n", "0")


async def test_a_file_has_the_hash_of_its_content_and_is_no_page(serve: Serve, configuration: str) -> None:
    async with serving(serve, configuration) as server:
        answer = await server.client.get(f"/operator/plugins/steps/files/{FIVE}", headers=key("ada"))

    assert answer.text == (STEPS / FIVE).read_text()
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"


async def test_links_and_files_outside_are_not_read(
    serve: Serve, configuration: str, plugin: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.yaml").write_text("secret: 1")
    (plugin / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (plugin / "folder").symlink_to(tmp_path)
    (plugin / "bytes.bin").write_bytes(b"\xff\x00")
    paths = ("link.yaml", "folder/outside.yaml", "..%2f..%2foutside.yaml", "%2fetc%2fpasswd", "nothing.yaml")
    async with serving(serve, configuration) as server:
        found = [
            await server.client.get(f"/operator/plugins/steps/files/{path}", headers=key("ada"))
            for path in (*paths, "bytes.bin")
        ]

    assert [one.json()["error"] for one in found] == ["plugin_file_not_found"] * 5 + ["plugin_file_not_text"]


# Drafts


async def test_a_draft_is_checked_with_the_line_and_the_replacement(
    serve: Serve, configuration: str, plugin: Path
) -> None:
    good = (plugin / FIVE).read_text()
    async with serving(serve, configuration) as server:
        found = await check(server, flows__five=good.replace("next: second", "next: secnd"))

    problem = next(one for one in found["problems"] if one["severity"] == "error")
    line = good.split("\n").index("    next: second") + 1
    assert (problem["code"], problem["severity"], problem["file"]) == ("E306", "error", FIVE)
    assert (problem["line"], problem["column"]) == (line, len("    next: ") + 1)
    assert (problem["found"], problem["suggestion"]) == ("secnd", "second")
    assert found["flows"] == []
    assert (plugin / FIVE).read_text() == good, "nothing is stored"


async def test_a_draft_without_errors_has_the_graphs_of_its_flows(serve: Serve, configuration: str) -> None:
    text = (STEPS / FIVE).read_text().replace("fourth", "quarter")
    async with serving(serve, configuration) as server:
        found = await check(server, flows__five=text)

    five = next(one["graph"] for one in found["flows"] if one["file"] == FIVE)
    assert [step["name"] for step in five["steps"]] == ["start", "second", "third", "quarter", "end"]
    assert found["problems"] == []


@pytest.mark.parametrize("path", ["lib/evil.json", "../x.yaml", "flows/x.py", ".hidden.yaml", "a\\b.yaml", "C:x.yaml"])
async def test_a_draft_cannot_have_a_file_that_may_not_be_changed(serve: Serve, configuration: str, path: str) -> None:
    async with serving(serve, configuration) as server:
        answer = await server.post("drafts/check", {"plugin": "steps", "files": {path: "x: 1"}}, **key("ada"))

    assert (answer.status_code, answer.json()["error"]) == (403, "plugin_file_protected")


async def test_a_dry_run_streams_the_requests_that_it_would_send(serve: Serve, configuration: str) -> None:
    text = (STEPS / FIVE).read_text().replace("GET /two", "GET /left")
    body = {"plugin": "steps", "files": {FIVE: text}, "flow": "five", "question": "five please"}
    async with serving(serve, configuration) as server:
        answer = await server.post("drafts/try", body, **key("ada"))

    events = [json.loads(line) for line in answer.text.splitlines()]
    outputs = [one["value"]["value"] for one in events if one.get("name") == "flow.step" and "record" in str(one)]
    requests = [one["record"]["request"] for one in outputs if one.get("record")]
    assert [one["url"].rpartition("/")[2] for one in requests] == ["one", "left", "three", "four", "five"]
    assert {one["headers"]["Authorization"] for one in requests} == {"Bearer ••••"}
    assert events[-1]["value"]["status"] == "succeeded"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"flow": "nothing"}, "flow_not_runnable"),
        ({"model": "nothing"}, "flow_not_runnable"),
        ({"files": {FIVE: "name: five"}}, "plugin_has_errors"),
        ({"plugin": "nothing"}, "plugin_not_found"),
        ({"question": ""}, "bad_request"),
    ],
)
async def test_a_dry_run_that_cannot_start_is_refused(
    serve: Serve, configuration: str, change: dict[str, Any], code: str
) -> None:
    body = {"plugin": "steps", "flow": "five", "question": "five"} | change
    async with serving(serve, configuration) as server:
        answer = await server.post("drafts/try", body, **key("ada"))
        admission = server.assembly.runtime.admission
        assert isinstance(admission, LimitedAdmission)
        running = admission.running("ada")

    assert (answer.status_code >= 400, answer.json()["error"], running) == (True, code, 0)


async def test_cases_run_over_the_draft(serve: Serve, configuration: str, plugin: Path) -> None:
    changed = (STEPS / FIVE).read_text().replace("GET /two", "GET /left")
    async with serving(serve, configuration) as server:
        before = (await server.post("drafts/cases", {"plugin": "steps"}, **key("ada"))).json()
        after = (await server.post("drafts/cases", {"plugin": "steps", "files": {FIVE: changed}}, **key("ada"))).json()
        broken = await server.post(
            "drafts/cases", {"plugin": "steps", "files": {"tests/cases.yaml": "name: x"}}, **key("ada")
        )

    assert [one["passed"] for one in before] == [True] * 5
    assert [one["passed"] for one in after] == [False] + [True] * 4
    assert "expected http://127.0.0.1:39190/two, was http://127.0.0.1:39190/left" in after[0]["differences"][0]
    assert broken.json()["error"] == "bad_cases"


# Saving


async def test_a_saved_file_is_used_and_announced(
    serve: Serve, configuration: str, plugin: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, AUDIT_LOGGER)
    good = (plugin / FIVE).read_text()
    (plugin / FIVE).chmod(0o640)
    async with (
        serving(serve, configuration) as server,
        server.client.stream("GET", "/operator/live", headers=key("wu")) as response,
    ):
        stream = Stream(response.aiter_lines())
        etag = (await server.client.get(f"/operator/plugins/steps/files/{FIVE}", headers=key("ada"))).headers["etag"]
        answer = await put(server, FIVE, good.replace("fourth", "quarter"), etag)
        news = await stream.until("plugin")
        graph = (await server.client.get("/operator/flows/steps/five", headers=key("ada"))).status_code

    assert answer.status_code == 200, answer.text
    assert news == {"id": "steps", "digest": answer.json()["digest"], "problems": 0}
    assert "quarter" in (plugin / FIVE).read_text()
    assert (plugin / FIVE).stat().st_mode & 0o777 == 0o640
    assert answer.headers["etag"] == f'"{hashlib.sha256((plugin / FIVE).read_bytes()).hexdigest()}"'
    assert graph == 404, "the plugin is for alice alone"
    assert "operator: ada saved flows/five.yaml of plugin steps" in caplog.messages


async def test_a_file_that_was_changed_meanwhile_is_not_overwritten(
    serve: Serve, configuration: str, plugin: Path
) -> None:
    async with serving(serve, configuration) as server:
        etag = (await server.client.get(f"/operator/plugins/steps/files/{FIVE}", headers=key("ada"))).headers["etag"]
        outside = (plugin / FIVE).read_text() + "# changed outside\n"
        (plugin / FIVE).write_text(outside)
        answer = await put(server, FIVE, "name: five", etag)
        missing = await server.client.put(
            f"/operator/plugins/steps/files/{FIVE}", json={"text": "x"}, headers={**CHANGING, **key("ada")}
        )

    assert (answer.status_code, answer.json()["error"]) == (412, "plugin_file_changed")
    assert missing.status_code == 428
    assert (plugin / FIVE).read_text() == outside


async def test_errors_are_saved_only_by_force_and_the_last_version_stays_active(
    serve: Serve, configuration: str, plugin: Path
) -> None:
    bad = (plugin / FIVE).read_text().replace("next: second", "next: secnd")
    async with serving(serve, configuration) as server:
        refused = await put(server, FIVE, bad, "*")
        unchanged = (plugin / FIVE).read_text()
        forced = await put(server, FIVE, bad, "*", force="1")

    assert (refused.status_code, refused.json()["error"]) == (422, "plugin_has_errors")
    assert "secnd" in refused.json()["message"]
    assert unchanged != bad
    assert (plugin / FIVE).read_text() == bad
    assert (forced.json()["state"], forced.json()["problems"][0]["code"]) == ("outdated", "E306")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("lib/evil.py", 403),
        ("lib/data.json", 403),
        ("LIB/data.json", 403),
        ("..%2fx.yaml", 403),
        ("flows/..%2f..%2f..%2fx.yaml", 403),
        ("flows/new.py", 403),
        (".env.json", 403),
        ("flows/new.yaml", 404),
        ("link.yaml", 404),
        ("away/x.yaml", 404),
    ],
)
async def test_nothing_but_an_editable_file_of_the_plugin_is_written(
    serve: Serve, configuration: str, plugin: Path, tmp_path: Path, path: str, status: int
) -> None:
    (tmp_path / "x.yaml").write_text("before")
    (plugin / "link.yaml").symlink_to(tmp_path / "x.yaml")
    (plugin / "away").symlink_to(tmp_path)
    before = list_all(plugin)
    async with serving(serve, configuration) as server:
        answer = await put(server, path, "x: 1\n", "*", force="1")

    assert answer.status_code == status
    assert (tmp_path / "x.yaml").read_text() == "before"
    assert list_all(plugin) == before


# New files


async def create_file(server: Server, path: str, text: str, **query: str) -> httpx2.Response:
    return await server.client.put(
        f"/operator/plugins/steps/files/{path}",
        json={"text": text},
        params=query,
        headers={**CHANGING, **key("ada"), "if-none-match": "*"},
    )


async def test_a_flow_from_the_template_of_the_console_is_created_and_used(
    serve: Serve, configuration: str, plugin: Path
) -> None:
    text = FLOW_TEMPLATE.read_text().replace("new_flow", "hello")
    async with serving(serve, configuration) as server:
        checked = await check(server, flows__hello=text)
        answer = await create_file(server, "flows/hello.yaml", text)
        again = await create_file(server, "flows/hello.yaml", "name: other")

    assert checked["problems"] == []
    assert answer.status_code == 200, answer.text
    assert answer.headers["etag"] == f'"{hashlib.sha256(text.encode()).hexdigest()}"'
    assert "flows/hello.yaml" in [one["path"] for one in answer.json()["files"]]
    assert (answer.json()["state"], answer.json()["problems"]) == ("active", [])
    assert (again.status_code, again.json()["error"]) == (412, "plugin_file_exists")
    assert (plugin / "flows" / "hello.yaml").read_text() == text


async def test_a_new_file_gets_the_folders_of_its_path(serve: Serve, configuration: str, plugin: Path) -> None:
    async with serving(serve, configuration) as server:
        answer = await create_file(server, "notes/more/read.md", "Notes.\n")

    assert answer.status_code == 200, answer.text
    assert (plugin / "notes" / "more" / "read.md").read_text() == "Notes.\n"


async def test_a_new_file_with_errors_is_created_only_by_force(serve: Serve, configuration: str, plugin: Path) -> None:
    async with serving(serve, configuration) as server:
        refused = await create_file(server, "flows/bad.yaml", "name: bad\n")
        is_there = (plugin / "flows" / "bad.yaml").exists()
        forced = await create_file(server, "flows/bad.yaml", "name: bad\n", force="1")

    assert (refused.status_code, refused.json()["error"], is_there) == (422, "plugin_has_errors", False)
    assert forced.json()["state"] == "outdated"


@pytest.mark.parametrize(
    "path",
    [
        "lib/evil.py",
        "lib/data.json",
        "..%2fy.yaml",
        "flows/..%2f..%2f..%2fy.yaml",
        "flows/new.py",
        ".env.json",
        "away/y.yaml",
        "away/in/y.yaml",
        "plugin.json/y.yaml",
        "link.yaml",
        "dangling.yaml",
    ],
)
async def test_no_file_is_created_outside_or_through_a_link(
    serve: Serve, configuration: str, plugin: Path, tmp_path: Path, path: str
) -> None:
    (tmp_path / "x.yaml").write_text("before")
    (plugin / "link.yaml").symlink_to(tmp_path / "x.yaml")
    (plugin / "dangling.yaml").symlink_to(tmp_path / "y.yaml")
    (plugin / "away").symlink_to(tmp_path)
    before = list_all(plugin)
    async with serving(serve, configuration) as server:
        answer = await create_file(server, path, "x: 1\n", force="1")

    assert answer.status_code == (412 if path in ("link.yaml", "dangling.yaml") else 403)
    assert (tmp_path / "x.yaml").read_text() == "before"
    assert not (tmp_path / "in").exists()
    assert list_all(plugin) == before


async def test_a_path_that_is_nested_too_deeply_is_refused(serve: Serve, configuration: str, plugin: Path) -> None:
    before = list_all(plugin)
    async with serving(serve, configuration) as server:
        answer = await create_file(server, "a/" * 64 + "x.yaml", "x: 1\n")

    assert (answer.status_code, answer.json()["error"]) == (422, "plugin_has_errors")
    assert list_all(plugin) == before


# New plugins

DOCUMENT = """
openapi: 3.1.0
info: {title: Weather, version: 1.0.0}
servers: [{url: "https://weather.example.com"}]
paths:
  /now/{city}:
    get:
      operationId: now
      description: The weather in a city now.
      parameters:
        - {name: city, in: path, required: true, description: The city., schema: {type: string}}
      responses: {"200": {description: The weather.}}
"""


async def test_a_plugin_is_created_from_an_openapi_document_and_loaded(
    serve: Serve, configuration: str, plugin: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, AUDIT_LOGGER)
    async with (
        serving(serve, configuration) as server,
        server.client.stream("GET", "/operator/live", headers=key("wu")) as response,
    ):
        stream = Stream(response.aiter_lines())
        answer = await server.post("plugins", {"id": "weather", "openapi": DOCUMENT}, **key("ada"))
        news = await stream.until("plugin")
        flows = (await server.client.get("/operator/flows", headers=key("bob"))).json()

    assert answer.status_code == 201, answer.text
    report = answer.json()["plugin"]
    assert (report["id"], report["name"], report["state"]) == ("weather", "Weather", "active")
    assert report["contacts"] == ["weather.example.com"]
    assert answer.json()["advice"] != []
    assert news == {"id": "weather", "digest": report["digest"], "problems": len(report["problems"])}
    assert [(one["plugin"], one["flow"]) for one in flows] == [("weather", "now")]
    assert (plugin.parent / "weather" / "openapi.yaml").read_text() == DOCUMENT
    assert "operator: ada created plugin weather" in caplog.messages


async def test_a_starter_plugin_is_created_and_its_cases_pass(serve: Serve, configuration: str) -> None:
    async with serving(serve, configuration) as server:
        answer = await server.post("plugins", {"id": "mine"}, **key("ada"))
        cases = (await server.post("drafts/cases", {"plugin": "mine"}, **key("ada"))).json()

    assert (answer.status_code, answer.json()["plugin"]["problems"], answer.json()["advice"]) == (201, [], [])
    assert [one["passed"] for one in cases] == [True, True]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"id": "steps"}, 409, "plugin_exists"),
        ({"id": "Steps"}, 409, "plugin_exists"),
        ({"id": "../evil"}, 422, "not_a_document"),
        ({"id": "a/b"}, 422, "not_a_document"),
        ({"id": ".hidden"}, 422, "not_a_document"),
        ({"id": ""}, 422, "not_a_document"),
        ({"id": "../evil", "openapi": "openapi: ["}, 422, "not_a_document"),
        ({"id": "x" * 101}, 400, "bad_request"),
        ({"id": "taken"}, 409, "plugin_exists"),
        ({"id": "new", "openapi": "hello"}, 422, "not_a_document"),
        ({"id": "new", "openapi": "openapi: 3.1.0\npaths: 7\n"}, 422, "plugin_has_errors"),
        ({"openapi": DOCUMENT}, 400, "bad_request"),
    ],
)
async def test_a_plugin_that_cannot_be_created_leaves_nothing(
    serve: Serve, configuration: str, plugin: Path, tmp_path: Path, body: dict[str, str], status: int, code: str
) -> None:
    (plugin.parent / "taken").symlink_to(tmp_path / "nowhere")
    before = list_all(plugin)
    async with serving(serve, configuration) as server:
        answer = await server.post("plugins", body, **key("ada"))

    assert (answer.status_code, answer.json()["error"]) == (status, code)
    assert list_all(plugin) == before
    assert not (tmp_path / "nowhere").exists()


async def test_a_server_whose_folders_are_single_plugins_has_no_place_for_new_ones(
    serve: Serve, plugin: Path, tmp_path: Path
) -> None:
    text = CONFIGURATION.format(folder=plugin, state=tmp_path / "state") + KEYS
    async with serving(serve, text) as server:
        answer = await server.post("plugins", {"id": "new"}, **key("ada"))

    assert (answer.status_code, answer.json()["error"]) == (409, "plugin_folder_missing")
    assert [one.name for one in plugin.parent.iterdir()] == ["steps"]


# Rights

ROUTES = [
    ("GET", "plugins", None),
    ("GET", "plugins/steps", None),
    ("GET", "plugins/steps/files/plugin.json", None),
    ("POST", "drafts/check", {"plugin": "steps"}),
    ("POST", "drafts/try", {"plugin": "steps", "flow": "five", "question": "five"}),
    ("POST", "drafts/cases", {"plugin": "steps"}),
    ("PUT", "plugins/steps/files/plugin.json", {"text": "{}"}),
    ("POST", "plugins", {"id": "new"}),
]


@pytest.mark.parametrize(("name", "allowed"), [("bob", 0), ("narrow", 0), ("wu", 2)])
async def test_plugins_need_rights_for_all_agents(
    serve: Serve, configuration: str, plugin: Path, name: str, allowed: int
) -> None:
    before = (plugin / "plugin.json").read_text()
    async with serving(serve, configuration) as server:
        answers = [
            await server.client.request(
                method, f"/operator/{path}", json=body, headers={**CHANGING, **key(name), "if-match": "*"}
            )
            for method, path, body in ROUTES
        ]

    assert [one.status_code for one in answers] == [200] * allowed + [403] * (len(ROUTES) - allowed)
    assert all("insufficient_scope" in one.text for one in answers[allowed:])
    assert (plugin / "plugin.json").read_text() == before
    assert [one.name for one in plugin.parent.iterdir()] == ["steps"]


@pytest.mark.parametrize("is_open", [True, False])
async def test_saving_is_off_without_the_option_and_without_keys(
    serve: Serve, configuration: str, plugin: Path, is_open: bool
) -> None:
    text = configuration.removesuffix(KEYS) if is_open else configuration.replace("edit: true", "edit: false")
    headers = {} if is_open else key("ada")
    before = (plugin / FIVE).read_text()
    async with serving(serve, text) as server:
        me = (await server.client.get("/operator/me", headers=headers)).json()
        answer = await server.client.put(
            f"/operator/plugins/steps/files/{FIVE}",
            json={"text": "name: five"},
            headers={**CHANGING, **headers, "if-match": "*"},
        )
        created = await server.post("plugins", {"id": "new"}, **headers)

    assert me["edit"] is False
    assert (answer.status_code, answer.json()["error"]) == (403, "editing_off")
    assert (created.status_code, created.json()["error"]) == (403, "editing_off")
    assert (plugin / FIVE).read_text() == before
    assert not (plugin.parent / "new").exists()


async def test_a_dry_run_goes_on_with_the_answers_to_what_the_flow_asks(serve: Serve, configuration: str) -> None:
    body: dict[str, Any] = {"plugin": "steps", "flow": "danger", "question": "danger"}
    path = {"status": "resolved", "payload": {"path": "old.txt"}}
    async with serving(serve, configuration) as server:
        asked = await server.post("drafts/try", body, **key("ada"))
        answered = await server.post("drafts/try", body | {"answers": [path]}, **key("ada"))
        skipped = await server.post("drafts/try", body | {"answers": [{"status": "cancelled"}]}, **key("ada"))
        many = await server.post("drafts/try", body | {"answers": [path] * 21}, **key("ada"))

    first, second, third = ([json.loads(line) for line in one.text.splitlines()] for one in (asked, answered, skipped))
    (question,) = first[-1]["interrupts"]
    assert list(question["schema"]["properties"]) == ["path"]
    assert [one["type"] for one in second].count("RunFinished") == 0
    assert second[-1]["value"]["status"] == "succeeded"
    assert '"body":{"path":"old.txt"}' in answered.text
    assert third[-1]["value"]["status"] != "succeeded"
    assert many.status_code == 400


async def test_the_first_file_of_cases_is_a_draft(serve: Serve, configuration: str, plugin: Path) -> None:
    (plugin / "tests" / "cases.yaml").unlink()
    case = "- {name: first, flow: five, question: five, model: {}, http: [], expect: {status: succeeded}}\n"
    async with serving(serve, configuration) as server:
        none = await server.post("drafts/cases", {"plugin": "steps"}, **key("ada"))
        begun = await server.post(
            "drafts/cases", {"plugin": "steps", "files": {"tests/cases.yaml": case}}, **key("ada")
        )

    assert none.json() == []
    assert [(one["name"], one["passed"]) for one in begun.json()] == [("first", False)]
