"""Whatever stands in the files, loading ends, with diagnostics and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from rightseat.config import document
from rightseat.config.document import UnreadableDocument, YamlLimits
from rightseat.plugins.loading import PluginLimits, json_text
from tests.plugins.loading.sample import FLOW, METADATA, OPENAPI, SAMPLE, load
from tests.profiles import examples

FILES = sorted(SAMPLE)
SLOWLY = settings(max_examples=examples(0.5), suppress_health_check=list(HealthCheck))
SCRAPS = some.sampled_from(
    [
        *"\\\"'{}[]:\t\n~#|\x00😀",
        *("- ", "? ", "&a", "*a", "<<: ", "!x", "null", "1e999", "0x1f", "2026-99-99"),
        *("$ref", "'#/paths'", "'#'", "pattern: '('"),
    ]
)
VALUES: some.SearchStrategy[Any] = some.recursive(
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats(allow_nan=False, allow_infinity=False)
    | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("file", FILES)
@SLOWLY
@given(content=some.binary(max_size=200))
def test_any_bytes_cause_only_diagnostics(file: str, content: bytes) -> None:
    found = load({**SAMPLE, file: content})

    assert (found.plugin is None) == bool(found.errors)


@pytest.mark.parametrize("file", FILES)
@SLOWLY
@given(data=some.data())
def test_corrupted_files_cause_only_diagnostics(file: str, data: some.DataObject) -> None:
    text = SAMPLE[file]
    for _ in range(data.draw(some.integers(1, 4))):
        at = data.draw(some.integers(0, len(text)))
        gone = data.draw(some.integers(0, 12))
        text = text[:at] + data.draw(SCRAPS) + text[at + gone :]

    found = load({**SAMPLE, file: text}, data.draw(some.sampled_from(["compat", "strict"])))

    assert (found.plugin is None) == bool(found.errors)


@pytest.mark.parametrize("file", FILES)
@SLOWLY
@given(data=some.data())
def test_any_value_in_any_place_causes_only_diagnostics(file: str, data: some.DataObject) -> None:
    whole = json.loads(METADATA) if file == "plugin.json" else load_yaml(FLOW if file.startswith("flows") else OPENAPI)
    here = whole
    while isinstance(here, dict | list) and here:
        key = data.draw(some.sampled_from(sorted(here) if isinstance(here, dict) else range(len(here))))
        if not isinstance(here[key], dict | list) or data.draw(some.booleans()):
            here[key] = data.draw(VALUES)
            break
        here = here[key]

    found = load({**SAMPLE, file: json.dumps(whole)}, limits=PluginLimits(max_depth=40))

    assert (found.plugin is None) == bool(found.errors)


@SLOWLY
@given(VALUES)
def test_json_is_parsed_like_the_standard_library_does(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent="\t", ensure_ascii=False)):
        assert json_text.load(text, YamlLimits()).value == json.loads(text)


@SLOWLY
@given(some.text(alphabet='{}[]",:0123456789.eE+-\\u truefalsn\t\n', max_size=30))
def test_json_is_refused_where_the_standard_library_refuses_it(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=refuse)
    except ValueError:
        with pytest.raises(UnreadableDocument):
            json_text.load(text, YamlLimits())
    else:
        try:
            assert json_text.load(text, YamlLimits()).value == expected
        except UnreadableDocument:
            assert "Infinity" in json.dumps(expected) or not is_whole(expected)


def refuse(word: str) -> None:
    raise ValueError(word)


def is_whole(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def load_yaml(text: str) -> Any:
    return document.load(text, None).value
