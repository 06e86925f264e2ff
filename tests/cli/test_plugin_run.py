"""`rightseat plugin test` and `rightseat plugin run`"""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.terminal import terminal

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
METADATA = '{"id": "shop", "name": "Shop", "description": "Lists the items of a shop."}'
OPENAPI = """
openapi: 3.1.0
info: { title: Shop, version: "1" }
servers: [{ url: "https://shop.example.com/v1" }]
paths:
  /items:
    get:
      operationId: list_items
      description: Lists items.
      responses:
        "200":
          description: Items.
          content:
            application/json:
              schema: { type: object, properties: { total: { type: integer, examples: [7] } } }
"""
FLOW = """
name: count
description: Says how many items there are.
answer: last
steps:
  - { name: start, call_type: api, params: { endpoint: GET /items }, next: end }
  - { name: end, call_type: extract, params: { keys: [total] } }
"""


@pytest.fixture
def shop(folder: Path) -> Path:
    place = folder / "shop"
    (place / "flows").mkdir(parents=True)
    (place / "plugin.json").write_text(METADATA)
    (place / "openapi.yaml").write_text(OPENAPI)
    (place / "flows/count.yaml").write_text(FLOW)
    return place


def test_the_cases_of_a_plugin_are_run_and_reported_one_by_one(run: Run) -> None:
    result = run("plugin", "test", str(EXAMPLES / "weather"))

    assert result.exit_code == 0, result.output
    assert "passed  weather: out of range value is repaired, not sent" in result.output
    assert result.output.endswith("weather: 2 cases\n")


def test_a_case_that_fails_prints_the_reason_and_exits_with_1(run: Run, folder: Path) -> None:
    shutil.copytree(EXAMPLES / "weather", folder / "weather")
    cases = folder / "weather/tests/cases.yaml"
    cases.write_text(cases.read_text().replace("path: [start, end]", "path: [start]"))

    result = run("plugin", "test", "weather")

    assert result.exit_code == 1
    assert "path: expected ['start'], was ['start', 'end']" in result.output


def test_code_of_a_plugin_runs_only_if_it_is_allowed(run: Run) -> None:
    result = run("plugin", "test", str(EXAMPLES / "host_security"))

    assert result.exit_code == 1
    assert "needs the code in the plugin's lib, which was not allowed to run" in result.output
    assert "--allow-lib" in result.stderr


def test_a_plugin_without_cases_prints_where_to_put_them(run: Run, shop: Path) -> None:
    result = run("plugin", "test", "shop")

    assert result.exit_code == 0
    assert result.output == "shop: no cases (tests/cases.yaml)\n"


def test_R_11_8_a_dry_run_prints_the_requests_and_sends_none(run: Run, shop: Path) -> None:
    result = run("plugin", "run", "shop", "count", "How many?", "--dry-run")

    assert result.exit_code == 0, result.output
    assert result.stdout == "1 of 1 values extracted: total\n"
    assert re.search(
        r"^✓ start        api +\d+\.\d s  GET /items was not sent \(dry run\)$", result.stderr, re.MULTILINE
    )
    assert "    request: GET https://shop.example.com/v1/items\n" in result.stderr
    assert '    output: {"total": 7}\n' in result.stderr
    assert re.search(
        r"^✓ end          extract +\d+\.\d s  1 of 1 values extracted: total$", result.stderr, re.MULTILINE
    )
    assert re.search(r"^succeeded after \d+\.\d s$", result.stderr, re.MULTILINE)


def test_json_output_has_a_line_for_each_event(run: Run, shop: Path) -> None:
    result = run("plugin", "run", "shop", "count", "How many?", "--dry-run", "--json")

    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert events[0] | {"value": ...} == {"type": "Custom", "name": "flow.started", "value": ...}
    assert events[-1]["value"]["status"] == "succeeded"
    assert [one["value"]["event"] for one in events if one.get("name") == "flow.step"] == ["input", "output"] * 2


def test_a_step_that_needs_a_value_prompts_for_it(shop: Path) -> None:
    document = (shop / "openapi.yaml").read_text()
    parameter = "      parameters: [{name: city, in: query, required: true, schema: {type: string}}]\n      responses:"
    (shop / "openapi.yaml").write_text(document.replace("      responses:", parameter))

    with terminal("plugin", "run", "shop", "count", "How many?", "--dry-run") as shown:
        shown.wait_for("? start        api")
        shown.wait_for("needs city")
        shown.wait_for("city: ")
        shown.enter("Ulm")
        shown.wait_for("request: GET https://shop.example.com/v1/items?city=Ulm")
        shown.wait_for("succeeded after")
        assert shown.wait_for_end() == 0


def test_ctrl_c_at_a_question_of_a_flow_ends_the_command(shop: Path) -> None:
    document = (shop / "openapi.yaml").read_text()
    parameter = "      parameters: [{name: city, in: query, required: true, schema: {type: string}}]\n      responses:"
    (shop / "openapi.yaml").write_text(document.replace("      responses:", parameter))

    with terminal("plugin", "run", "shop", "count", "How many?", "--dry-run") as shown:
        shown.wait_for("city: ")
        shown.interrupt("Aborted")
        assert shown.wait_for_end() == 1

    assert "Traceback" not in shown.shown


def test_a_flow_that_fails_exits_with_1_and_names_the_step_and_the_reason(run: Run, shop: Path) -> None:
    flow = shop / "flows/count.yaml"
    flow.write_text(flow.read_text().replace("keys: [total]", "keys: [price]"))

    result = run("plugin", "run", "shop", "count", "How many?", "--dry-run")

    assert result.exit_code == 1
    assert re.search(r"^✗ end          extract +\d+\.\d s  extract_missing: ", result.stderr, re.MULTILINE)
    assert re.search(r"^failed_handled after ", result.stderr, re.MULTILINE)
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: The flow count failed in step end (failed_handled, extract_missing): ")


def test_without_a_configuration_a_note_names_the_built_in_model(run: Run, shop: Path) -> None:
    assert "No rightseat.yaml found" in run("plugin", "run", "shop", "count", "How many?", "--dry-run").stderr


def test_an_unknown_flow_is_refused_with_the_names_of_the_others(run: Run, shop: Path) -> None:
    result = run("plugin", "run", "shop", "nothing", "?")

    assert result.exit_code == 1
    assert result.stderr == "Error: The plugin has no flow 'nothing'. Its flows: count.\n"


def test_a_folder_without_a_plugin_is_refused(run: Run, folder: Path) -> None:
    assert run("plugin", "run", "nowhere", "x", "?").exit_code == 1


def test_a_flow_that_needs_a_file_names_the_option_for_one(run: Run) -> None:
    result = run("plugin", "run", str(EXAMPLES / "file_convert"), "inspect_document", "What is in it?", "--dry-run")

    assert result.exit_code == 1
    assert "a file is required. Attach one with --file." in result.stderr


def test_R_11_8_a_dry_run_labels_its_answer_as_made_up(run: Run, shop: Path) -> None:
    assert (
        "Results and the answer are made up" in run("plugin", "run", "shop", "count", "How many?", "--dry-run").stderr
    )
