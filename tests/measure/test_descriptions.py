"""The questions of descriptions.py fit the example plugins, and the copies lack what is measured and nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from rightseat.plugins import selection, slots
from rightseat.plugins.definition import Operation, Plugin
from rightseat.plugins.response_notes import describe_response
from tests.measure.descriptions import NONE, QUESTIONS, ROOT, load_all, mcnemar, scope, share, stripped


@pytest.fixture(scope="module")
def document() -> Any:
    return yaml.safe_load(QUESTIONS.read_text())


@pytest.fixture(scope="module")
def plugins() -> dict[str, Plugin]:
    return load_all(ROOT / "examples" / "plugins")


def test_every_expected_flow_can_be_chosen_and_every_expected_argument_fits(
    document: Any, plugins: dict[str, Plugin]
) -> None:
    names = {one.name for one in selection.list_candidates([*plugins.values()])}

    assert {asked["flow"] for asked in document["questions"]} == names | {NONE}
    for asked in document["questions"]:
        if "arguments" in asked:
            name, _, flow = asked["flow"].partition(".")
            operation = operation_of(plugins[name], str(plugins[name].flows[flow].steps["start"].params["endpoint"]))
            assert slots.check_arguments(plugins[name], operation, asked["arguments"], scope(asked)) == {}
    second = document["second_requests"]
    operation = operation_of(plugins[second["plugin"]], second["endpoint"])
    for asked in second["questions"]:
        assert slots.check_arguments(plugins[second["plugin"]], operation, asked["arguments"], scope(asked)) == {}


def test_the_copies_lack_the_measured_descriptions_and_nothing_else(plugins: dict[str, Plugin], tmp_path: Path) -> None:
    copies = load_all(stripped(tmp_path / "plugins"))

    for name, plugin in plugins.items():
        copy = copies[name]
        assert copy.texts.description == copy.texts.name == plugin.texts.name
        assert copy.flows == plugin.flows
        for endpoint, operation in plugin.operations.items():
            kept = operation_of(copy, endpoint)
            assert kept.request_description == describe_response(kept) == ""
            bare = replace(operation, request_description="", response_description="", response=None, statuses={})
            assert replace(kept, response=None, statuses={}) == bare


def test_shares_and_the_test_of_changes_are_right() -> None:
    assert share(53, 54) == "98% (90% to 100%)"
    assert mcnemar(5, 0) == pytest.approx(0.0625)
    assert mcnemar(0, 0) == mcnemar(3, 3) == 1


def operation_of(plugin: Plugin, endpoint: str) -> Operation:
    operation = plugin.operation(endpoint)
    assert operation is not None, endpoint
    return operation
