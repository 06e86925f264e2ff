"""`rightseat plugin test` and `rightseat plugin try`"""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Run

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


def test_the_cases_of_a_plugin_are_run_and_told_one_by_one(run: Run) -> None:
    result = run("plugin", "test", str(EXAMPLES / "weather"))

    assert result.exit_code == 0, result.output
    assert "passed  weather: out of range value is repaired, not sent" in result.output
    assert result.output.endswith("weather: 2 cases\n")


def test_a_case_that_fails_says_why_and_ends_with_1(run: Run, folder: Path) -> None:
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


def test_a_plugin_without_cases_says_where_they_would_be(run: Run, shop: Path) -> None:
    result = run("plugin", "test", "shop")

    assert result.exit_code == 0
    assert result.output == "shop: there are no cases (tests/cases.yaml)\n"


def test_R_11_8_a_dry_run_shows_what_would_be_sent_and_sends_nothing(run: Run, shop: Path) -> None:
    result = run("plugin", "try", "shop", "count", "How many?", "--dry-run")

    assert result.exit_code == 0, result.output
    assert result.stdout == "1 of 1 values taken: total\n"
    assert '"url": "https://shop.example.com/v1/items"' in result.stderr
    assert '"output": {"total": 7}' in result.stderr
    assert '"status": "succeeded"' in result.stderr


def test_a_flow_that_fails_ends_with_1_and_says_where_and_why(run: Run, shop: Path) -> None:
    flow = shop / "flows/count.yaml"
    flow.write_text(flow.read_text().replace("keys: [total]", "keys: [price]"))

    result = run("plugin", "try", "shop", "count", "How many?", "--dry-run")

    assert result.exit_code == 1
    assert '"status": "failed_handled"' in result.stderr
    last = result.stderr.splitlines()[-1]
    assert last.startswith("Error: The flow count failed in its step end (failed_handled, extract_missing): ")


def test_without_a_configuration_it_is_said_that_nobody_thinks(run: Run, shop: Path) -> None:
    assert "There is no rightseat.yaml" in run("plugin", "try", "shop", "count", "How many?", "--dry-run").stderr


def test_a_flow_that_is_not_there_is_refused_with_those_that_are(run: Run, shop: Path) -> None:
    result = run("plugin", "try", "shop", "nothing", "?")

    assert result.exit_code == 1
    assert result.stderr == "Error: There is no flow 'nothing'. There are: count.\n"


def test_a_folder_that_is_no_plugin_is_refused(run: Run, folder: Path) -> None:
    assert run("plugin", "try", "nowhere", "x", "?").exit_code == 1


def test_a_flow_that_needs_a_file_says_how_to_hand_one_in(run: Run) -> None:
    result = run("plugin", "try", str(EXAMPLES / "file_convert"), "inspect_document", "What is in it?", "--dry-run")

    assert result.exit_code == 1
    assert "a file is needed, and there is none. Hand one in with --file." in result.stderr


def test_R_11_8_a_dry_run_says_that_its_answer_is_made_up(run: Run, shop: Path) -> None:
    assert "What comes back is made up" in run("plugin", "try", "shop", "count", "How many?", "--dry-run").stderr
