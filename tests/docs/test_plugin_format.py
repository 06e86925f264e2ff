"""The pages about the plugin format say what the code does."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from rightseat.plugins.diagnostics import KINDS
from rightseat.plugins.loading import flows, metadata, steps
from tests.docs import plugin_schemas, plugins
from tests.plugins.loading.sample import FLOW, METADATA

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
FLOWS = sorted(EXAMPLES.glob("*/flows/*.yaml"))
PAGE = plugins.PAGE.read_text()


def test_the_page_has_every_code() -> None:
    assert [code for code in KINDS if f"`{code}`" not in PAGE] == []


def test_the_page_has_every_field() -> None:
    fields = {*metadata.KNOWN_KEYS, *flows.KNOWN_KEYS, *steps.KNOWN_KEYS}

    assert sorted(field for field in fields if f"| `{field}` |" not in PAGE) == []


@pytest.mark.parametrize("path", plugins.SCHEMAS, ids=lambda path: path.name)
def test_the_schemas_follow_their_dialect(path: Path) -> None:
    jsonschema_rs.meta.validate(json.loads(path.read_text()))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/plugin.json")), ids=lambda path: path.parent.name)
def test_the_schema_of_plugin_json_takes_the_examples(path: Path) -> None:
    jsonschema_rs.validator_for(plugin_schemas.plugin()).validate(json.loads(path.read_text()))


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
def test_the_schema_of_flows_takes_the_examples(path: Path) -> None:
    jsonschema_rs.validator_for(plugin_schemas.flow()).validate(read(path.read_text()))


def read(text: str) -> Any:
    """As YAML 1.2 reads it, in which `on` is a word."""
    found = yaml.safe_load(text)
    for step in found["steps"]:
        if True in step.get("retry", {}):
            step["retry"]["on"] = step["retry"].pop(True)
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("call_type: llm", "call_type: LLM"),
        ("endpoint:", "endpont:"),
        ("next_flow: []", "next_flow: look_up"),
        ("description: Looks", "descripton: Looks"),
    ],
)
def test_the_schema_of_flows_finds_faults(old: str, new: str) -> None:
    assert not jsonschema_rs.validator_for(plugin_schemas.flow()).is_valid(read(FLOW.replace(old, new)))


def test_the_schema_of_plugin_json_finds_faults() -> None:
    validator = jsonschema_rs.validator_for(plugin_schemas.plugin())

    assert validator.is_valid(json.loads(METADATA))
    assert not validator.is_valid(json.loads(METADATA.replace('"header"', '"magic"')))
    assert not validator.is_valid({"id": "a"})
